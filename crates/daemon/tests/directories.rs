//! Directories and sockets under any umask. The umask belongs to the process, so there is one test.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use laxity_daemon::{directory, socket};
use rustix::fs::Mode;

/// A socket is reachable by its group, whichever program created its directory. Fails when the umask
/// changes the mode of a directory, when a directory that only its owner may enter stays so, or when the
/// socket has another mode.
#[test]
fn sockets_are_reachable_by_their_group() {
    let place = std::env::temp_dir().join(format!("laxity-folders-{}", std::process::id()));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let run = place.join("run");
    directory::create_accessible(&run).expect("a folder");
    assert_eq!(mode(&run), 0o755);
    assert!(!directory::denies_access(&run, 0o660));

    fs::set_permissions(&run, Permissions::from_mode(0o700)).expect("ours");
    assert!(directory::denies_access(&run, 0o660) && directory::denies_access(&run, 0o606));
    assert!(!directory::denies_access(&run, 0o600));
    directory::create(&run).expect("it is there");
    assert_eq!(mode(&run), 0o700);
    directory::create_accessible(&run).expect("ours");
    assert_eq!(mode(&run), 0o755);
    // A mode that was set on purpose stays.
    fs::set_permissions(&run, Permissions::from_mode(0o750)).expect("ours");
    directory::create_accessible(&run).expect("ours");
    assert_eq!(mode(&run), 0o750);
    assert!(directory::denies_access(&run, 0o666) && !directory::denies_access(&run, 0o660));

    let path = run.join("new/s");
    let (_listener, file) = socket::listen(&path, 0o660, None).expect("a socket");
    assert_eq!((mode(&run.join("new")), mode(&path)), (0o755, 0o660));
    let left = fs::read_dir(run.join("new")).expect("a folder").count();
    assert_eq!(left, 1, "the private directory is left");
    drop(file);
    assert!(!path.exists());
    fs::remove_dir_all(place).expect("ours");
}
