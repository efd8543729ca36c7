//! The generated pages of the documentation, which must agree with this daemon. `UPDATE=1 cargo test -p quiverd pages`
//! writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use quiver_compat::definition::Definition;
use quiver_compat::missing::{MISSING, Missing};
use quiver_compat::startup::known::{Disposition, SETTINGS, Setting};
use quiver_compat::{Api, Release, awaiting};
use quiver_control::{Control, docs};
use quiver_engine::{Dataplane, Settings, To};

use crate::features::{Room, register_all};

/// The graph as a picture that Markdown viewers draw: nodes, their arcs but drops, feature arcs as rounded boxes;
/// behind these, the label of an arc to a feature is its phase.
fn graph(control: &Control) -> String {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let mut text = "```mermaid\nflowchart LR\n".to_owned();
    let mut line = |from: &str, label: &str, to: &str| {
        let _ = writeln!(text, "  {from} -->{label} {to}");
    };
    let arc = |name: &str| format!("arc-{name}([{name}])");
    for node in graph.nodes() {
        let name = graph.name(node);
        let mut told = vec![];
        for to in graph.arcs(node).iter().filter(|arc| !arc.is_drop()) {
            let to = match to.to {
                To::Node(to) => to.to_owned(),
                To::Features(name) => arc(name),
                To::Punt => "punt".to_owned(),
                To::Out => "wire[/driver/]".to_owned(),
                To::Drop | To::Done | To::NextFeature => continue,
            };
            if !told.contains(&to) {
                line(name, "", &to);
                told.push(to);
            }
        }
    }
    let arcs: Vec<_> = graph.feature_arcs().map(|(spec, _)| spec.name).collect();
    for (spec, features) in graph.feature_arcs() {
        let end = if spec.name != spec.end && arcs.contains(&spec.end) { arc(spec.end) } else { spec.end.to_owned() };
        let through: Vec<_> = features.iter().map(|(feature, _)| (feature.node, feature.phase)).collect();
        let mut at = arc(spec.name);
        for (name, phase) in through {
            line(&at, &phase.map_or(String::new(), |phase| format!("|{phase}|")), name);
            at = name.to_owned();
        }
        if at != arc(spec.name) || spec.name != spec.end {
            line(&at, "", &end);
        }
        if !features.is_empty() {
            line(&arc(spec.name), "", &end);
        }
    }
    text.push_str("```\n");
    text
}

/// The messages of VPP's API: those that rooms answer, file by file, and those that wait for a room.
fn api(control: &Control) -> String {
    let api = control.room::<Api>();
    let mut text =
        "# VPP's messages\n\nThis page lists the messages of VPP's binary API that quiverd answers. Names, fields and checksums \
        are those of VPP 26.10; `quiverd --write-api FOLDER` writes the definitions that clients load. Generated from the \
        sources.\n"
            .to_owned();
    let known: BTreeMap<&str, &Definition> =
        api.messages().map(|(definition, _)| (definition.name.as_str(), definition)).collect();
    let mut files: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for row in awaiting::rows() {
        let (answered, waiting) = files.entry(row.file).or_default();
        let place = if known.contains_key(row.name) { answered } else { waiting };
        place.push(row.name);
    }
    for (file, (answered, _)) in files.iter().filter(|(_, (answered, _))| !answered.is_empty()) {
        let _ = writeln!(text, "\n## {file}.api\n\n| message | description |\n|---|---|");
        for name in answered {
            let _ = writeln!(text, "| `{name}` | {} |", known[name].text);
        }
    }
    text.push_str(
        "\n## Not implemented yet\n\nquiverd knows these messages, so that clients start, but answers a request with \
        \"unimplemented\" and a dump with an empty list.\n\n| file | messages |\n|---|---|\n",
    );
    for (file, (_, waiting)) in files.iter().filter(|(_, (_, waiting))| !waiting.is_empty()) {
        let names: Vec<_> = waiting.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {file} | {} |", names.join(" "));
    }
    text
}

/// The settings of VPP's startup.conf, and the options of quiverd that they become.
fn startup() -> String {
    let mut text = "| section | setting | meaning | example | option of quiverd |\n|---|---|---|---|---|\n".to_owned();
    for Setting { section, form, disposition } in SETTINGS {
        let form = if form.is_empty() { "all of it".to_owned() } else { format!("`{}`", form.replace('|', "\\|")) };
        let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
        let row = match disposition {
            Disposition::Used { becomes, example, gives, .. } => {
                format!("{becomes} | {} | {}", code(example), code(gives))
            }
            Disposition::Pointless(why) => format!("*without meaning:* {why} | |"),
            Disposition::Missing(what) => format!("*not there yet:* {what} | |"),
        };
        let _ = writeln!(text, "| {section} | {form} | {row} |");
    }
    text
}

/// The features of VPP that are missing, and how their commands begin.
fn missing() -> String {
    let mut text = "| feature | commands that begin with |\n|---|---|\n".to_owned();
    for Missing { feature, commands } in MISSING {
        let commands: Vec<_> = commands.iter().map(|words| format!("`{words}`")).collect();
        let _ = writeln!(text, "| {feature} | {} |", commands.join(", "));
    }
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file, or the part of it between two marks, with the expected text; writes it if told to.
fn check(file: &str, marks: Option<(&str, &str)>, expected: &str) {
    let path = root().join(file);
    let now = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = match marks {
        None => expected.to_owned(),
        Some((begin, end)) => {
            let (before, rest) = now.split_once(begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
            let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{file} has no {end}"));
            format!("{before}{begin}\n{expected}{end}{after}")
        }
    };
    if now == wanted {
        return;
    }
    assert!(
        std::env::var_os("UPDATE").is_some(),
        "{file} is not what this daemon has; `UPDATE=1 cargo test -p quiverd pages` writes it anew"
    );
    std::fs::write(&path, wanted).unwrap();
}

/// Calls `test` with the control side of a daemon.
pub(crate) async fn with_control(test: impl FnOnce(&Control)) {
    with_rooms(crate::features::ROOMS.iter().collect(), test).await;
}

/// The same with rooms in some order.
async fn with_rooms(rooms: Vec<&Room>, test: impl FnOnce(&Control)) {
    // Rooms start their tasks when they register.
    let all = async {
        let control = crate::host::control();
        control.insert_room(Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).unwrap());
        register_all(&control, rooms).unwrap();
        test(&control);
    };
    tokio::task::LocalSet::new().run_until(all).await;
}

#[tokio::test]
async fn messages_have_the_checksums_of_vpp() {
    let compare = |control: &Control| {
        let theirs: BTreeMap<&str, u32> = awaiting::rows().map(|row| (row.name, row.crc)).collect();
        let api = control.room::<Api>();
        let ours: Vec<_> =
            api.messages().map(|(ours, _)| (ours.name.clone(), ours.crc(), ours.fields.clone())).collect();
        assert!(ours.len() > 20, "{} messages", ours.len());
        for (name, crc, fields) in ours {
            let their = theirs.get(name.as_str()).unwrap_or_else(|| panic!("VPP has no message {name}"));
            assert_eq!(crc, *their, "{name}: our checksum {crc:#010x} is not VPP's {their:#010x}; fields: {fields:#?}");
        }
        for (name, _) in Release::all().flat_map(Release::differences) {
            assert!(!api.has(name), "{name} is answered as 26.10 has it, whatever the release of the client");
        }
    };
    with_control(compare).await;
}

/// The graph with its claims, in lines that do not depend on the order of registration.
fn lines(control: &Control) -> BTreeSet<String> {
    let dataplane = control.room::<Dataplane>();
    let claims = dataplane.graph().claims().map(|(node, number, claim)| {
        format!("{node}: {} {number} to {}", claim.what, dataplane.graph().claimant(node, claim))
    });
    graph(control).lines().map(str::to_owned).chain(claims).collect()
}

#[tokio::test]
async fn the_order_of_rooms_changes_nothing_in_the_graph() {
    let mut listed = BTreeSet::new();
    with_control(|control| listed = lines(control)).await;
    assert!(listed.len() > 200, "{} lines", listed.len());
    let mut rooms: Vec<_> = crate::features::ROOMS.iter().rev().collect();
    for shift in 0..8 {
        with_rooms(rooms.clone(), |control| assert_eq!(lines(control), listed)).await;
        // Another order each time: every third room, then those between.
        rooms.rotate_left(shift);
        rooms = (0..3).flat_map(|first| rooms.iter().skip(first).step_by(3).copied().collect::<Vec<_>>()).collect();
    }
}

#[test]
fn rooms_come_after_those_that_their_cargo_toml_names() {
    for room in crate::features::ROOMS {
        let folder = room.name.trim_start_matches("quiver_").replace('_', "-");
        let read = |kind| std::fs::read_to_string(root().join(kind).join(&folder).join("Cargo.toml"));
        let cargo = read("features").or_else(|_| read("drivers")).unwrap();
        let (_, dependencies) = cargo.split_once("[dependencies]").unwrap();
        let (dependencies, _) = dependencies.split_once("\n[").unwrap();
        let names =
            dependencies.lines().filter_map(|line| line.split_once('.')).map(|(name, _)| name.replace('-', "_"));
        let needed: BTreeSet<_> =
            names.filter(|name| crate::features::ROOMS.iter().any(|room| room.name == name)).collect();
        assert_eq!(room.after.iter().copied().map(str::to_owned).collect::<BTreeSet<_>>(), needed, "{}", room.name);
    }
}

#[test]
fn the_manual_is_that_of_these_options() {
    quiver_manual::check(&<crate::settings::Settings as clap::CommandFactory>::command(), "quiverd", "8");
}

#[tokio::test]
async fn what_is_missing_has_no_commands() {
    with_control(|control| {
        for words in MISSING.iter().flat_map(|missing| missing.commands) {
            assert!(!control.commands().begins(control, words), "{words}: some command begins so");
        }
    })
    .await;
}

#[tokio::test]
async fn pages_are_what_this_daemon_has() {
    with_control(check_all).await;
}

fn check_all(control: &Control) {
    check("docs/objects.md", None, &docs::objects_page(control));
    check("docs/commands.md", None, &docs::commands_page(control));
    let schema = serde_json::to_string_pretty(&docs::schema(control)).unwrap();
    check("docs/schema.json", None, &format!("{schema}\n"));
    check("docs/api.md", None, &api(control));
    check("docs/migration.md", Some(("<!-- startup.conf -->", "<!-- /startup.conf -->")), &startup());
    check("docs/migration.md", Some(("<!-- missing -->", "<!-- /missing -->")), &missing());
    check("docs/graph.md", Some(("<!-- graph -->", "<!-- /graph -->")), &graph(control));
}
