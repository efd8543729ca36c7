//! The same packets through Quiver and through the kernel's nftables with connection tracking: verdicts, translations, states and
//! timeouts are compared, as a firewall ([`FIREWALL`]) and with NAT ([`NAT`]).
//!
//! A file has captures: the packets that hosts inside and outside send, each followed by the results. `UPDATE=1` writes the results.
//! Where both differ in the packets that leave, the file has the reason (`because`). Where they differ in a session's state or
//! timeout, `docs/conntrack.md` has a row for the pair, with the reason; each row occurs.

mod capture;
mod routers;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use libtest_mimic::Failed;
use quiver_netns::World;
use quiver_testkit::trials::Trial;

use capture::{Capture, Line};
use routers::{Mode, Routers};

pub const TRIALS: &[Trial<World>] =
    &[("a_firewall_treats_captures_as_linux_does", firewall), ("nat_treats_captures_as_linux_does", nat)];

/// The reason of a difference that has none yet.
const UNEXPLAINED: &str = "?";
const FIREWALL: &str = "firewall.txt";
const NAT: &str = "nat.txt";
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/namespaces/conntrack");
const PAGE: &str = include_str!("../../../../docs/conntrack.md");

fn firewall(world: &World) -> Result<(), Failed> {
    compare(world, Mode::Firewall, FIREWALL)
}

fn nat(world: &World) -> Result<(), Failed> {
    compare(world, Mode::Nat, NAT)
}

/// The pairs of states that the page explains for a mode: protocol, Quiver's and Linux's state with its timeout.
fn explained(mode: Mode) -> BTreeSet<[String; 3]> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").map(str::to_owned).collect::<Vec<_>>());
    cells
        .filter(|cells| cells.len() == 5 && cells[0] == mode.name())
        .map(|cells| [1, 2, 3].map(|n| cells[n].clone()))
        .collect()
}

fn compare(world: &World, mode: Mode, name: &str) -> Result<(), Failed> {
    let file = Path::new(FOLDER).join(name);
    let text = fs::read_to_string(&file)?;
    let captures = Capture::read_all(&text)?;
    let (mut result, mut pairs) = (String::new(), BTreeSet::new());
    for (n, capture) in captures.iter().enumerate() {
        let mut routers = Routers::new(world, mode, n)?;
        result += &run(&mut routers, capture, &mut pairs).map_err(|error| {
            format!("{}: capture {}: {}", file.display(), capture.name, error.message().unwrap_or_default())
        })?;
        routers.finish()?;
    }
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&file, &result)?;
    } else if let Some((n, (found, expected))) =
        result.lines().zip(text.lines()).enumerate().find(|(_, (found, expected))| found != expected)
    {
        let n = n + 1;
        return Err(format!(
            "{name}:{n}: {expected}\nnow:      {found}\n`UPDATE=1 cargo test -p quiver-scenarios --test namespaces -- conntrack` writes it"
        )
        .into());
    }
    if let Some(n) = result.lines().position(|line| line == format!("because {UNEXPLAINED}")) {
        return Err(format!("{name}:{}: write the reason of this difference in place of {UNEXPLAINED}", n + 1).into());
    }
    let explained = explained(mode);
    let told = |pairs: Vec<&[String; 3]>| {
        pairs
            .into_iter()
            .map(|pair| format!("| {} | {} |", mode.name(), pair.join(" | ")))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (new, gone) = (told(pairs.difference(&explained).collect()), told(explained.difference(&pairs).collect()));
    match (new.is_empty(), gone.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("docs/conntrack.md explains none of these pairs:\n{new}").into()),
        (true, false) => Err(format!("docs/conntrack.md has pairs that do not occur:\n{gone}").into()),
    }
}

/// Runs a capture; its text with the results.
fn run(routers: &mut Routers, capture: &Capture, pairs: &mut BTreeSet<[String; 3]>) -> Result<String, Failed> {
    let mut text = format!("capture {}\n", capture.name);
    let mut shown = BTreeSet::new();
    for line in &capture.lines {
        match line {
            Line::Comment(comment) => text += &format!("{comment}\n"),
            Line::Send { side, packet, learn, because } => {
                text += &format!("{side} {packet}\n");
                routers.send(*side, packet)?;
                if let Some(name) = learn {
                    routers.learn(name)?;
                    text += &format!("learn {name}\n");
                }
                let [quiver, linux] = [0, 1].map(|router| routers.texts(router));
                let lines = |device: &str, packets: &[String]| match packets {
                    [] => format!("  {device} drop\n"),
                    packets => packets.iter().map(|packet| format!("  {device} {packet}\n")).collect(),
                };
                let told = match (quiver == linux, because) {
                    (true, _) => lines("both", &quiver),
                    (false, because) => {
                        let because = because.as_deref().unwrap_or(UNEXPLAINED);
                        lines("quiver", &quiver) + &lines("linux", &linux) + &format!("because {because}\n")
                    }
                };
                text += &told;
                let states = routers.states()?;
                for (flow, [quiver, linux]) in states.iter().filter(|state| !shown.contains(*state)) {
                    text += &format!("  {flow}: {quiver} | {linux}\n");
                    let protocol = flow.split(' ').next().unwrap_or_default().to_owned();
                    pairs.insert([protocol, quiver.clone(), linux.clone()]);
                }
                shown = states;
            }
        }
    }
    Ok(text + "\n")
}
