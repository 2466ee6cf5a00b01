//! Programs with deadlines among the processes of a machine: by name, by the folder of a game, by use of a sound
//! device.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// What a program does, which says how often it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Audio,
    Video,
    Game,
}

impl Kind {
    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Kind::Audio => "audio",
            Kind::Video => "video",
            Kind::Game => "game",
        }
    }

    /// The period in ms: of sound the usual half of a buffer, of pictures a frame at 60 a second, rounded down.
    pub fn period_ms(self) -> u64 {
        match self {
            Kind::Audio => 10,
            Kind::Video | Kind::Game => 16,
        }
    }
}

/// Names as in `/proc/PID/comm`, which has 15 letters.
const NAMES: &[(Kind, &[&str])] = &[
    (
        Kind::Audio,
        &[
            "pipewire",
            "pipewire-pulse",
            "pulseaudio",
            "jackd",
            "jackdbus",
            "mpd",
            "ardour",
            "ardour8",
            "reaper",
            "bitwig-studio",
            "audacity",
            "guitarix",
            "carla",
            "mumble",
            "spotify",
            "rhythmbox",
            "audacious",
            "supercollider",
            "scsynth",
            "pd",
        ],
    ),
    (
        Kind::Video,
        &[
            "mpv",
            "vlc",
            "ffplay",
            "totem",
            "celluloid",
            "kodi.bin",
            "smplayer",
            "obs",
            "zoom",
            "cheese",
            "gst-launch-1.0",
            "gst-play-1.0",
        ],
    ),
    (
        Kind::Game,
        &[
            "retroarch",
            "minetest",
            "luanti",
            "supertuxkart",
            "0ad",
            "xonotic-sdl",
            "dolphin-emu",
            "pcsx2-qt",
            "rpcs3",
            "openarena",
            "wesnoth",
            "teeworlds",
            "glxgears",
        ],
    ),
];

/// A process with deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub kind: Kind,
    pub pid: u32,
    pub name: String,
    /// How it was found.
    pub why: String,
}

/// Its busiest thread over a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    pub program: Program,
    pub tid: u32,
    pub thread: String,
    /// CPU time of the thread during the sample.
    pub used: Duration,
}

/// The programs of a `/proc`, audio first, then by process.
pub fn find(proc: &Path) -> Vec<Program> {
    let mut found: Vec<Program> = numbers(proc).filter_map(|pid| program(proc, pid)).collect();
    found.sort_by_key(|program| (program.kind, program.pid));
    found
}

fn program(proc: &Path, pid: u32) -> Option<Program> {
    let folder = proc.join(pid.to_string());
    let name = fs::read_to_string(folder.join("comm")).ok()?.trim_end().to_owned();
    let known = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
    let (kind, why) = match (known, sound_device(&folder)) {
        (Some((kind, _)), Some(device)) => (*kind, format!("known by its name, uses {device}")),
        (Some((kind, _)), None) => (*kind, "known by its name".to_owned()),
        (None, _) if is_game(&folder, &name) => {
            (Kind::Game, "runs from a folder of games".to_owned())
        }
        (None, Some(device)) => (Kind::Audio, format!("uses {device}")),
        (None, None) => return None,
    };
    Some(Program { kind, pid, name, why })
}

/// The PCM device that a process has open. Of processes of others only root sees it.
fn sound_device(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder.join("fd")).ok()?;
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let names = targets.map(|target| target.display().to_string());
    names.into_iter().find(|name| name.starts_with("/dev/snd/pcm"))
}

/// Games of Steam, and Windows programs under Wine or Proton.
fn is_game(folder: &Path, name: &str) -> bool {
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).to_lowercase();
    let program = line.split('\0').next().unwrap_or_default();
    let of_wine = [
        "services.exe",
        "explorer.exe",
        "winedevice.exe",
        "plugplay.exe",
        "svchost.exe",
        "rpcss.exe",
    ];
    let windows =
        name.to_lowercase().ends_with(".exe") && !of_wine.contains(&name.to_lowercase().as_str());
    program.contains("/steamapps/common/") && !program.contains("steamlinuxruntime") || windows
}

/// The busiest thread of each over a sample. A program that ends meanwhile is left out.
pub fn measure(proc: &Path, programs: Vec<Program>, sample: Duration) -> Vec<Measured> {
    let before: Vec<_> = programs.iter().map(|program| threads(proc, program.pid)).collect();
    std::thread::sleep(sample);
    let measured = programs.into_iter().zip(before).filter_map(|(program, before)| {
        let since = |tid: u32, now: u64| {
            let earlier = before.iter().find(|(of, _)| *of == tid).map_or(0, |(_, ns)| *ns);
            now.saturating_sub(earlier)
        };
        let now = threads(proc, program.pid).into_iter().map(|(tid, ns)| (since(tid, ns), tid));
        // Of threads that did as much, the first.
        let (used, tid) = now.max_by_key(|(used, tid)| (*used, std::cmp::Reverse(*tid)))?;
        let folder = proc.join(program.pid.to_string()).join("task").join(tid.to_string());
        let thread = fs::read_to_string(folder.join("comm")).ok()?.trim_end().to_owned();
        Some(Measured { program, tid, thread, used: Duration::from_nanos(used) })
    });
    measured.collect()
}

/// The threads of a process, each with its CPU time in ns (`/proc/PID/task/TID/schedstat`).
fn threads(proc: &Path, pid: u32) -> Vec<(u32, u64)> {
    let tasks = proc.join(pid.to_string()).join("task");
    let used = |tid: u32| {
        let text = fs::read_to_string(tasks.join(tid.to_string()).join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    numbers(&tasks).filter_map(|tid| Some((tid, used(tid)?))).collect()
}

/// Entries of a folder that are numbers, in order.
fn numbers(folder: &Path) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    all.into_iter()
}
