//! The command line of `laxity init`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "Asks for what is missing when it runs on a terminal. Kinds of line, as in \
    tc-cake(8): raw, conservative, ethernet, docsis, pppoe-ptm, bridged-ptm, pppoe-vcmux, \
    pppoe-llcsnap, pppoa-vcmux, pppoa-llc, bridged-vcmux, bridged-llcsnap, ipoa-vcmux, \
    ipoa-llcsnap, then ether-vlan, atm, ptm or noatm as needed. Traffic with deadlines: voice, \
    meeting, game, zoom, teams, meet, or none."
)]
pub struct InitArgs {
    /// Upstream rate of the line, such as `20mbit` or `20 Mbit/s`.
    #[arg(long, value_name = "RATE")]
    pub up: Option<String>,
    /// Downstream rate of the line.
    #[arg(long, value_name = "RATE")]
    pub down: Option<String>,
    /// Kind of line, which determines the bytes of framing: keywords of tc-cake(8).
    #[arg(long, value_name = "KEYWORDS")]
    pub line: Option<String>,
    /// Interface of the line; the default is that of the default route.
    #[arg(long, value_name = "DEV")]
    pub wan: Option<String>,
    /// Traffic that gets deadlines: names of presets, or `none`.
    #[arg(long, value_name = "PRESET[,PRESET..]")]
    pub with: Option<String>,
    /// Deadline of a preset, instead of its own (repeatable).
    #[arg(long, value_name = "PRESET=TIME")]
    pub deadline: Vec<String>,
    /// Share of the line's rate to use, so that packets queue here and not in the modem.
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    pub share: String,
    /// Jitter that the provider adds downstream, which envelopes have to admit.
    #[arg(long, value_name = "TIME", default_value = "155 ms")]
    pub jitter: String,
    /// Find audio, video and games that run here, and propose reservations of CPUs for them, instead of links.
    #[arg(long, conflicts_with_all = ["up", "down", "line", "wan", "with", "deadline", "share", "jitter"])]
    pub cpus: bool,
    /// With `--cpus`, how long to measure what they use.
    #[arg(long, value_name = "TIME", default_value = "3s", requires = "cpus")]
    pub sample: String,
    /// Directory of the two scenarios, DEV-up.toml and DEV-down.toml, or of cpus.toml.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Overwrite existing files.
    #[arg(long)]
    pub force: bool,
}
