//! `laxity link plan`: a scenario as a tree of the kernel's own disciplines.

mod support;

use laxity_results::TcPlan;
use support::{Folder, file, laxity};

/// Fails when the plan of a shipped scenario lacks a flow, a command, or the other side of the comparison.
#[test]
fn shipped_scenarios_are_planned() {
    let link = file("scenarios/access-link.toml");
    let ran = laxity(&["link", "plan", "--target", "hfsc", &link, "--json", "--duration", "2s"]);
    let plan: TcPlan = serde_json::from_str(&ran.succeeds()).unwrap();
    assert!(plan.guaranteed && plan.flows.len() == 3 && plan.best_effort.len() == 4);
    for flow in &plan.flows {
        let (delay, laxity) = (flow.delay_ns.unwrap(), flow.laxity_min_deadline_ns.unwrap());
        assert!(delay <= flow.deadline_ns && laxity < delay, "{flow:?}");
    }
    let [ftp, ..] = &plan.best_effort[..] else { panic!("no classes") };
    assert!(ftp.laxity_max_ms.is_some_and(|ms| ms > 0.0 && ftp.tree_max_ms > Some(ms)), "{ftp:?}");
    let rt = plan.commands.iter().find(|c| c.contains("classid 1:12")).unwrap();
    assert!(rt.contains("rt m1 0bit d 1770us m2 1200000bit"), "{rt}");
    let text = laxity(&["link", "plan", "--target", "hfsc", &link, "--duration", "0s"]).succeeds();
    assert!(text.starts_with("Guaranteed. hfsc for eth0 at 10 Mbit/s"), "{text}");
    for part in ["late: ", "reserved: ", "policing: ", "no-match: ", "  tc qdisc add dev eth0 root"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Fails when `--commands` prints anything that a shell would not run, or loses size table or shaper.
#[test]
fn commands_alone_are_for_a_shell() {
    let link = file("scenarios/home-router.toml");
    let args = ["link", "plan", "--target", "htb", &link, "--dev", "wan0", "--shape", "--commands"];
    let commands = laxity(&args).succeeds();
    assert!(commands.lines().all(|line| line.starts_with("tc ")), "{commands}");
    let first = commands.lines().next().unwrap();
    assert!(
        first.starts_with("tc qdisc add dev wan0 root handle 1: stab overhead 24 mpu 84"),
        "{first}"
    );
    assert!(first.contains(" tbf rate 20000000bit"), "{first}");
    assert!(commands.contains("tc qdisc add dev wan0 parent 1:1 handle 2: htb default 16"));
}

/// Fails when a refusal has the status of bad input, or the reverse, or lacks place and remedy.
#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new("plan-refused");
    let link = file("scenarios/access-link.toml");
    let cpu = file("scenarios/desktop.toml");
    let curve = file("scenarios/service-curves.toml");
    let soon = std::fs::read_to_string(&link).unwrap().replace("\"5 ms\"", "\"1 ms\"");
    let soon = folder.write("soon.toml", &soon);
    for (args, code, parts) in [
        (["hfsc", &soon, "plan0"], 1, ["`voice`: deadline", "lengthen the deadline"]),
        (["htb", &link, "plan0"], 1, ["[link] rate", "laxity link up"]),
        (["cbs", &link, "plan0"], 2, ["3 different deadlines", "htb or hfsc"]),
        (["hfsc", &curve, "plan0"], 2, ["service_curve", "`deadline` and `envelope`"]),
        (["hfsc", &cpu, "plan0"], 2, ["does not describe a link", "[link]"]),
        (["hfsc", &link, "a;b"], 2, ["--dev a;b", "letters"]),
    ] {
        let ran = laxity(&["link", "plan", "--target", args[0], args[1], "--dev", args[2]]);
        ran.fails(code, &parts);
    }
    let shaped = laxity(&["link", "plan", "--target", "cbs", &link, "--shape"]);
    shaped.fails(2, &["--target cbs", "hfsc or htb"]);
}
