//! Options under their former names, refused with the new one.

use clap::Arg;

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

/// The command with the former options, hidden, which no value satisfies.
pub fn refused(command: clap::Command) -> clap::Command {
    OPTIONS.iter().fold(command, |command, (path, old, new)| add(command, path, old, new))
}

fn add(
    command: clap::Command,
    path: &[&'static str],
    old: &'static str,
    new: &'static str,
) -> clap::Command {
    if let [first, rest @ ..] = path {
        return command.mut_subcommand(*first, |inner| add(inner, rest, old, new));
    }
    let fail = move |_: &str| Err::<(), String>(format!("the option is called --{new}"));
    let option = Arg::new(old).long(old).hide(true);
    command.arg(option.num_args(0..=1).default_missing_value("").value_parser(fail))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Laxity;

    /// Fails when a former option is accepted, or refused without the present one, or when the present one
    /// is not there.
    #[test]
    fn former_options_are_refused_with_the_new_name() {
        for (path, old, new) in OPTIONS {
            let refusal = |option: &str| {
                let option = format!("--{option}");
                let words = [&["laxity"], *path, &[option.as_str()]].concat();
                let ran = refused(Laxity::command()).try_get_matches_from(words);
                ran.expect_err("incomplete").to_string()
            };
            assert!(refusal(old).contains(&format!("called --{new}\n")), "{}", refusal(old));
            assert!(!refusal(new).contains("unexpected argument"), "{}", refusal(new));
        }
    }
}
