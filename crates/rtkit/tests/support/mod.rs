//! A bus of its own for each test, under the policy that packages install.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use laxity_reserve::Client;
use laxity_rtkit::{Config, NAME, PATH, Supervisor, serve};
use zbus::blocking::connection::{Builder, Connection};
use zbus::blocking::proxy::Proxy;

/// The errors of RealtimeKit.
pub const DENIED: &str = "org.freedesktop.DBus.Error.AccessDenied";
pub const FAILED: &str = "org.freedesktop.DBus.Error.Failed";

/// As the system bus has it, with places to fill in.
const CONFIGURATION: &str = include_str!("../bus.conf");

/// A running bus.
pub struct Bus {
    daemon: Child,
    folder: PathBuf,
    pub address: String,
}

impl Bus {
    /// Starts a bus; `None` where its program is missing.
    pub fn start(name: &str) -> Option<Bus> {
        let folder = std::env::temp_dir().join(format!("laxity-bus-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/laxity-rtkit.conf");
        let user = nix::unistd::getuid();
        let own = format!("<policy user=\"{user}\"><allow own=\"{NAME}\"/></policy>");
        let own = if user.is_root() { "" } else { &own };
        let text = CONFIGURATION.replace("@POLICY@", policy).replace("@OWN@", own);
        let text = text.replace("@FOLDER@", folder.to_str().expect("UTF-8"));
        let file = folder.join("bus.conf");
        std::fs::write(&file, text).expect("a file");
        let mut command = Command::new("dbus-daemon");
        command.arg("--nofork").arg("--print-address=1").arg("--config-file").arg(&file);
        let Ok(mut daemon) = command.stdout(Stdio::piped()).spawn() else {
            let _ = std::fs::remove_dir_all(&folder);
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and there is no dbus-daemon");
            eprintln!("skipped: there is no dbus-daemon");
            return None;
        };
        let mut address = String::new();
        let output = daemon.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut address).expect("an address");
        Some(Bus { daemon, folder, address: address.trim().to_owned() })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The service on a bus, until it is dropped.
pub struct TestService {
    pub supervisor: Arc<Supervisor>,
    _connection: Connection,
}

impl TestService {
    pub fn start(bus: &Bus, socket: &Path, config: Config) -> TestService {
        // The server may start later.
        let client = Client::unconnected_to(socket);
        let supervisor = Arc::new(Supervisor::new(config, client));
        let builder = Builder::address(bus.address.as_str()).expect("an address");
        let connection = serve(builder, Arc::clone(&supervisor)).expect("the name");
        TestService { supervisor, _connection: connection }
    }

    /// Whether a second service is refused the name.
    pub fn second_is_refused(bus: &Bus) -> bool {
        let client = Client::unconnected_to("/nowhere/at/all");
        let builder = Builder::address(bus.address.as_str()).expect("an address");
        let second = serve(builder, Arc::new(Supervisor::new(Config::default(), client)));
        matches!(second, Err(zbus::Error::NameTaken))
    }
}

/// A client of the service.
pub fn client(address: &str) -> Proxy<'static> {
    let builder = Builder::address(address).expect("an address");
    let connection = builder.method_timeout(Duration::from_secs(20)).build().expect("a bus");
    Proxy::new(&connection, NAME, PATH, NAME).expect("a service")
}

/// The result of a call, as name and text of the error.
pub fn call<B>(proxy: &Proxy<'_>, method: &str, body: &B) -> Result<(), (String, String)>
where
    B: zbus::export::serde::Serialize + zbus::zvariant::DynamicType,
{
    match proxy.call_method(method, body) {
        Ok(_) => Ok(()),
        Err(zbus::Error::MethodError(name, text, _)) => {
            Err((name.to_string(), text.unwrap_or_default()))
        }
        Err(error) => panic!("{method}: {error}"),
    }
}

/// Uses CPU time.
pub fn compute(time: Duration) {
    let now = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
    };
    let end = now() + time;
    while now() < end {
        std::hint::spin_loop();
    }
}
