//! `show plugins`, `show plugins counters`.

use std::fmt::Write;

use quiver_compat::Api;
use quiver_compat::startup::AT_HOME;
use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_plugin::{Loaded, Plugins};

pub(crate) fn register(control: &Control) {
    let show = "Show plugins, their nodes and failures.";
    control.commands().add(Command::new("show plugins", show, plugins));
    let show = Command::new("show plugins counters [verbose]", "Show the counters of plugins.", counters);
    control.commands().add(show.argument("verbose", "include counters that are 0"));
}

/// Plugins of VPP whose work rooms do, as far as clients can tell: all their messages are answered.
fn at_home(control: &Control) -> Vec<(&'static str, &'static str)> {
    if !control.has_room::<Api>() {
        return vec![];
    }
    let api = control.room::<Api>();
    let file = |plugin: &'static str| plugin.strip_suffix("_plugin.so").unwrap_or(plugin);
    AT_HOME.iter().copied().filter(|(plugin, _)| quiver_compat::awaiting::is_complete(&api, file(plugin))).collect()
}

/// State of a plugin's node.
fn state(failed: Option<&String>) -> String {
    failed.map_or("loaded".to_owned(), |what| format!("disabled: {what}"))
}

/// Clients of VPP read its lines: the first by its first words, plugins by their numbers.
fn plugins(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut text = " Plugin path is: what --plugin says, plugins shown in load order\n\n".to_owned();
    let _ = writeln!(text, "     {:<41}{:<33}Description", "Plugin", "Version");
    let mut number = 0..;
    let mut line = |name: &str, release: &str, what: &str| {
        let number = number.next().unwrap_or(0) + 1;
        let _ = writeln!(text, "{number:>3}. {name:<40} {release:<32} {what}");
    };
    let mut table = Table::new(["Plugin", "Release", "Node", "State", "Built by", "File"]);
    for (name, what) in at_home(control) {
        let (release, what) = (env!("CARGO_PKG_VERSION"), format!("part of Quiver: {what}"));
        line(name, release, &what);
        table.row([name.into(), release.into(), Cell::empty(), what.into()]);
    }
    for plugin in &control.room::<Plugins>().loaded {
        line(&plugin.name, &plugin.release, &nodes(plugin));
        let mut row = |node: Cell, state: String| {
            let (built_by, file) = (Cell::from(plugin.built_by.as_str()), Cell::of(plugin.path.display()));
            let [name, release] = [&plugin.name, &plugin.release].map(|text| Cell::from(text.as_str()));
            table.row([name, release, node, state.into(), built_by, file]);
        };
        for node in &plugin.nodes {
            row(node.name.into(), state(node.failed.as_ref()));
        }
        if plugin.nodes.is_empty() {
            row(Cell::empty(), state(None));
        }
    }
    Ok(Reply::new(text, table.to_json()))
}

/// A plugin's nodes, by whom it was built, and where it is.
fn nodes(plugin: &Loaded) -> String {
    let node = |node: &quiver_plugin::Placed| format!("{} {}, ", node.name, state(node.failed.as_ref()));
    let nodes: String = plugin.nodes.iter().map(node).collect();
    format!("{nodes}{}, {}", plugin.built_by, plugin.path.display())
}

fn counters(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Plugin", "Counter", "Index", "Packets", "Bytes", "Meaning"]);
    for plugin in &control.room::<Plugins>().loaded {
        for counted in &plugin.counters {
            for index in 0..counted.len() {
                let (packets, bytes) = counted.sum(index).unwrap_or_default();
                if packets == 0 && bytes == 0 && !matches.has("verbose") {
                    continue;
                }
                let [name, counter, help] =
                    [&plugin.name, &counted.name, &counted.help].map(|text| Cell::from(text.as_str()));
                table.row([name, counter, index.into(), packets.into(), bytes.into(), help]);
            }
        }
    }
    Ok(table.into())
}
