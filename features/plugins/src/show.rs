//! `show plugins`, `show plugins counters`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_plugin::Plugins;

pub(crate) fn register(control: &Control) {
    let show = "Show the plugins, their nodes, and which of them failed.";
    control.commands().add(Command::new("show plugins", show, plugins));
    let show = Command::new("show plugins counters [verbose]", "Show what plugins count.", counters);
    control.commands().add(show.argument("verbose", "also what was never counted"));
}

fn plugins(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Plugin", "Release", "Node", "State", "Built by", "File"]);
    for plugin in &control.room::<Plugins>().loaded {
        let mut row = |node: Cell, state: String| {
            let (built_by, file) = (Cell::from(plugin.built_by.as_str()), Cell::of(plugin.path.display()));
            let [name, release] = [&plugin.name, &plugin.release].map(|text| Cell::from(text.as_str()));
            table.row([name, release, node, state.into(), built_by, file]);
        };
        for node in &plugin.nodes {
            let state = node.failed.as_ref().map_or("loaded".to_owned(), |what| format!("disabled: {what}"));
            row(node.name.into(), state);
        }
        if plugin.nodes.is_empty() {
            row(Cell::empty(), "loaded".to_owned());
        }
    }
    Ok(table.into())
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
