//! A machine as its files describe it. Tests give another root than `/`.

use std::path::PathBuf;

/// Where probes look.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
    /// Whether this build has the kernel's part.
    pub kernel_part: bool,
    /// Resolution of the monotonic clock (`clock_getres(2)`), ns.
    pub resolution_ns: u64,
}

impl Machine {
    /// The machine of this process.
    pub fn this() -> Machine {
        let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
        let ns = resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64;
        Machine {
            root: PathBuf::from("/"),
            kernel_part: cfg!(feature = "kernel"),
            resolution_ns: ns,
        }
    }

    /// A machine whose files are in a folder.
    #[cfg(test)]
    pub fn below(root: &std::path::Path) -> Machine {
        Machine { root: root.to_owned(), kernel_part: true, resolution_ns: 1 }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A file as text; empty where it cannot be read.
    pub fn text(&self, path: &str) -> String {
        let bytes = std::fs::read(self.path(path)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Whether a file holds these bytes.
    pub fn holds(&self, path: &str, wanted: &[u8]) -> bool {
        let bytes = std::fs::read(self.path(path)).unwrap_or_default();
        bytes.windows(wanted.len()).any(|window| window == wanted)
    }

    /// The names in a folder, sorted; none where it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Release of the kernel, as `uname -r`.
    pub fn release(&self) -> String {
        self.text("/proc/sys/kernel/osrelease")
    }

    /// The first two numbers of the release.
    pub fn version(&self) -> (u32, u32) {
        let release = self.release();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
        (next(), next())
    }

    /// Whether a file system of this type is mounted at a path, or anywhere.
    pub fn mounted(&self, kind: &str, at: Option<&str>) -> bool {
        self.text("/proc/mounts").lines().any(|line| {
            let mut columns = line.split(' ').skip(1);
            let place = columns.next();
            columns.next() == Some(kind) && at.is_none_or(|at| place == Some(at))
        })
    }

    /// Whether the kernel has a module, loaded, built in or to be loaded.
    pub fn module(&self, name: &str) -> bool {
        let folder = format!("/lib/modules/{}", self.release());
        let file = format!("/{name}.ko");
        self.has(&format!("/sys/module/{name}"))
            || ["modules.builtin", "modules.dep"]
                .iter()
                .any(|list| self.text(&format!("{folder}/{list}")).contains(&file))
    }

    /// Whether a program is in one of the usual folders.
    pub fn program(&self, name: &str) -> bool {
        ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .iter()
            .any(|folder| self.has(&format!("{folder}/{name}")))
    }

    /// A value of `/etc/os-release`.
    pub fn system(&self, key: &str) -> String {
        let text = self.text("/etc/os-release");
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        value.unwrap_or_default().trim_matches('"').to_owned()
    }

    /// The effective capabilities of this process; all where the kernel does not list them.
    pub fn capabilities(&self) -> u64 {
        let status = self.text("/proc/self/status");
        let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        hex.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(u64::MAX)
    }

    /// The command that installs packages, by the names they have under apt-get, dnf, pacman, zypper and apk.
    pub fn install(&self, packages: [&str; 5]) -> String {
        let managers = ["apt-get install", "dnf install", "pacman -S", "zypper install", "apk add"];
        let found = managers.iter().zip(packages).find(|(manager, _)| {
            manager.split(' ').next().is_some_and(|program| self.program(program))
        });
        match found {
            Some((manager, package)) => format!("sudo {manager} {package}"),
            None => format!("install {}", packages[0]),
        }
    }

    /// The command that brings a later kernel.
    pub fn later_kernel(&self) -> String {
        if self.system("ID") == "debian" {
            // Backports of Debian 12 end before the first kernel that has all parts.
            let release = self.system("VERSION_ID").parse::<u32>();
            let (suite, before) = match release.is_ok_and(|release| release < 13) {
                true => ("trixie".to_owned(), "upgrade to Debian 13, then "),
                false => (self.system("VERSION_CODENAME"), ""),
            };
            let architecture = match std::env::consts::ARCH {
                "x86_64" => "amd64",
                "aarch64" => "arm64",
                other => other,
            };
            return format!(
                "{before}sudo apt-get install -t {suite}-backports linux-image-{architecture}"
            );
        }
        self.install(["linux-generic", "kernel", "linux", "kernel-default", "linux-lts"])
    }
}
