//! Former names of options, which still work and appear nowhere.

/// Subcommands, the former option, and the present one.
const OPTIONS: &[(&[&str], &str, &str)] = &[
    (&["link", "set"], "patience", "timeout"),
    (&["cpu", "record"], "for", "duration"),
    (&["stream", "serve"], "metrics", "listen"),
    (&["stream", "receive"], "clock", "clock-rate"),
    (&["stream", "receive"], "sources", "max-sources"),
    (&["stream", "receive"], "other-machine", "remote-sender"),
    (&["fit"], "packet-size", "max-packet"),
    (&["fit"], "by", "flow-key"),
];

/// The command with the former options as hidden aliases.
pub fn accepted(command: clap::Command) -> clap::Command {
    OPTIONS.iter().fold(command, |command, (path, old, new)| alias(command, path, old, new))
}

fn alias(command: clap::Command, path: &[&str], old: &'static str, new: &str) -> clap::Command {
    match path {
        [first, rest @ ..] => command.mut_subcommand(first, |inner| alias(inner, rest, old, new)),
        [] => command.mut_arg(new.replace('-', "_"), |arg| arg.alias(old)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Laxity;

    /// Fails when a former option is refused, or is printed by the help.
    #[test]
    fn former_options_work() {
        for (path, old, new) in OPTIONS {
            let error = |option: &str| {
                let option = format!("--{option}");
                let words = [&["laxity"], *path, &[option.as_str(), option.as_str()]].concat();
                let ran = accepted(Laxity::command()).try_get_matches_from(words);
                ran.expect_err("neither the option nor the rest is complete").to_string()
            };
            assert_eq!(error(old), error(new));
            assert!(!error(new).contains("unexpected argument"), "{}", error(new));
            let words = [&["laxity"], *path, &["--help"]].concat();
            let help = accepted(Laxity::command()).try_get_matches_from(words).expect_err("help");
            assert!(!help.to_string().contains(&format!("--{old} ")), "{help}");
        }
    }
}
