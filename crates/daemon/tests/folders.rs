//! Folders and sockets whatever the umask, which belongs to the whole process: one test alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use laxity_daemon::{folder, socket};
use rustix::fs::Mode;

/// The socket of reservations is for a group, and the folder it is in was made by whichever program
/// came first. Fails when a folder has the mode that the umask leaves, when one that only its owner
/// may enter stays so, or when the socket is not of its mode.
#[test]
fn sockets_are_reached_by_those_for_whom_they_are() {
    let place = std::env::temp_dir().join(format!("laxity-folders-{}", std::process::id()));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
    rustix::process::umask(Mode::from_raw_mode(0o077));
    let run = place.join("run");
    folder::open_to_all(&run).expect("a folder");
    assert_eq!(mode(&run), 0o755);
    assert!(!folder::hides(&run, 0o660));

    fs::set_permissions(&run, Permissions::from_mode(0o700)).expect("ours");
    assert!(folder::hides(&run, 0o660) && folder::hides(&run, 0o606));
    assert!(!folder::hides(&run, 0o600));
    folder::make(&run).expect("it is there");
    assert_eq!(mode(&run), 0o700);
    folder::open_to_all(&run).expect("ours");
    assert_eq!(mode(&run), 0o755);
    // What somebody has set on purpose.
    fs::set_permissions(&run, Permissions::from_mode(0o750)).expect("ours");
    folder::open_to_all(&run).expect("ours");
    assert_eq!(mode(&run), 0o750);
    assert!(folder::hides(&run, 0o666) && !folder::hides(&run, 0o660));

    let path = run.join("new/s");
    let (_listener, listening) = socket::listen(&path, 0o660, None).expect("a socket");
    assert_eq!((mode(&run.join("new")), mode(&path)), (0o755, 0o660));
    let left = fs::read_dir(run.join("new")).expect("a folder").count();
    assert_eq!(left, 1, "the hidden folder was left behind");
    drop(listening);
    assert!(!path.exists());
    fs::remove_dir_all(place).expect("ours");
}
