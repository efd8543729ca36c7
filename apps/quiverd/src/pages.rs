//! The generated pages of the documentation, which must be what this daemon has. `UPDATE=1 cargo test -p quiverd pages`
//! writes them anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use quiver_control::{Control, docs};
use quiver_engine::{Dataplane, Settings, To};

/// The graph as a picture that Markdown viewers draw: nodes, their arcs but drops, feature arcs as rounded boxes.
fn graph(control: &Control) -> String {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let mut text = "```mermaid\nflowchart LR\n".to_owned();
    let mut line = |from: &str, to: &str| {
        let _ = writeln!(text, "  {from} --> {to}");
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
                line(name, &to);
                told.push(to);
            }
        }
    }
    let arcs: Vec<_> = graph.feature_arcs().map(|(spec, _)| spec.name).collect();
    for (spec, features) in graph.feature_arcs() {
        let end = if spec.name != spec.end && arcs.contains(&spec.end) { arc(spec.end) } else { spec.end.to_owned() };
        let through: Vec<_> = features.iter().map(|(name, _)| *name).collect();
        let mut at = arc(spec.name);
        for name in through {
            line(&at, name);
            at = name.to_owned();
        }
        if at != arc(spec.name) || spec.name != spec.end {
            line(&at, &end);
        }
        if !features.is_empty() {
            line(&arc(spec.name), &end);
        }
    }
    text.push_str("```\n");
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file, or the part of it between two marks, with what it should be; writes it if told to.
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

#[tokio::test]
async fn pages_are_what_this_daemon_has() {
    // Rooms start their tasks when they register.
    tokio::task::LocalSet::new().run_until(async { check_all() }).await;
}

fn check_all() {
    let control = crate::host::control();
    control.insert_room(Dataplane::new(Settings { buffers: 1000, ..Settings::default() }).unwrap());
    crate::features::register(&control).unwrap();
    check("docs/objects.md", None, &docs::objects_page(&control));
    check("docs/commands.md", None, &docs::commands_page(&control));
    let schema = serde_json::to_string_pretty(&docs::schema(&control)).unwrap();
    check("docs/schema.json", None, &format!("{schema}\n"));
    check("README.md", Some(("<!-- graph -->", "<!-- /graph -->")), &graph(&control));
}
