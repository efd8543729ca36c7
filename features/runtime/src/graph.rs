//! `show graph`, `show features`: nodes, arcs, and what is enabled where.

use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, Phase, To};
use quiver_interface::{InterfaceName, Interfaces};

pub(crate) fn register(control: &Control) {
    let show = "Show the arcs of the graph, their targets and packet counters.";
    control
        .commands()
        .add(Command::new("show graph [<node:text>]", show, show_graph).argument("node", "one node only"));
    let show = "Show the nodes that are registered for EtherTypes, protocols and ports.";
    control.commands().add(Command::new("show demultiplexers", show, show_demultiplexers));
    let show = "Show the metadata columns that rooms keep with packets.";
    control.commands().add(Command::new("show metadata", show, show_metadata));
    let show = "Show the feature arcs, their features in order, and where each is enabled.";
    control.commands().add(
        Command::new("show features [verbose]", show, show_features)
            .argument("verbose", "also the place of each on its arc"),
    );
    let show = "Show which features are enabled on an interface, or on each, arc by arc.";
    let show = Command::new("show interface features [<interface>] [verbose]", show, show_features_of);
    control.commands().add(show.argument("verbose", "also arcs without any"));
}

fn show_graph(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let only = matches.find::<String>("node")?;
    if let Some(name) = &only {
        graph.find(name).map_err(|e| CommandError::new(e.to_string()).at(matches.place("node")))?;
    }
    let mut table = Table::new(["Node", "Arc", "Leads to", "Packets"]);
    for node in graph.nodes().filter(|node| only.as_ref().is_none_or(|only| graph.name(*node) == only)) {
        for (number, arc) in graph.arcs(node).iter().enumerate() {
            let to = match arc.to {
                To::Node(name) => name.to_string(),
                To::Drop => "drop".into(),
                To::Done => "the end".into(),
                To::Punt => "punt".into(),
                To::Out => "the sending interface".into(),
                To::Features(name) => format!("arc {name}"),
                To::NextFeature => "the next feature".into(),
            };
            let packets: u64 = graph.counters(node).map(|c| c.arcs[number].get()).sum();
            table.row([Cell::from(graph.name(node)), Cell::from(arc.name), Cell::from(to), Cell::from(packets)]);
        }
    }
    Ok(table.into())
}

fn show_demultiplexers(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let mut table = Table::new(["Node", "Number", "", "Goes to"]);
    for (node, number, claim) in graph.claims() {
        let to = graph.claimant(node, claim);
        let named = Some(&claim.shown).filter(|shown| **shown != number.to_string());
        table.row([
            Cell::from(node),
            Cell::from(format!("{} {number}", claim.what)),
            named.map_or_else(Cell::empty, |shown| Cell::from(shown.as_str())),
            Cell::from(to),
        ]);
    }
    Ok(table.into())
}

fn show_metadata(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Metadata"]);
    control.room::<Dataplane>().metadata_keys().names().for_each(|name| table.row([Cell::from(name)]));
    Ok(table.into())
}

fn show_features(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let titles = ["Arc", "Feature", "Phase", "Enabled on"].into_iter();
    let is_verbose = matches.has("verbose");
    let mut table = Table::new(titles.chain(is_verbose.then_some("Place")));
    for (arc, features) in dataplane.graph().feature_arcs() {
        let mut row = |place: usize, cells: [Cell; 4]| {
            table.row(cells.into_iter().chain(is_verbose.then(|| Cell::from(place as u64))));
        };
        for (place, (feature, on)) in features.iter().enumerate() {
            let names: Vec<_> = on.iter().map(|id| crate::interface_name(control, *id)).collect();
            let phase = feature.phase.map_or("", Phase::name);
            row(place, [arc.name.into(), feature.node.into(), phase.into(), Cell::from(names.join(", "))]);
        }
        let end = Cell::from(format!("(end) {}", arc.end));
        row(features.len(), [Cell::from(arc.name), end, Cell::empty(), Cell::empty()]);
    }
    Ok(table.into())
}

/// In VPP's layout.
fn show_features_of(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (dataplane, interfaces) = (control.room::<Dataplane>(), control.room::<Interfaces>());
    let only = matches.find::<InterfaceName>("interface")?.map(|InterfaceName(name)| interfaces.id_of(&name));
    let only = only.transpose().map_err(|error| CommandError::from(error).at(matches.place("interface")))?;
    let (mut text, mut all) = (String::new(), serde_json::Map::new());
    for interface in interfaces.iter().filter(|interface| only.is_none_or(|only| only == interface.id)) {
        let _ = writeln!(text, "Feature paths configured on {}...\n", interface.name);
        let mut arcs = serde_json::Map::new();
        for (arc, features) in dataplane.graph().feature_arcs() {
            let enabled = features.iter().filter(|(_, on)| on.contains(&interface.id.0));
            let enabled: Vec<&str> = enabled.map(|(feature, _)| feature.node).collect();
            if enabled.is_empty() && !matches.has("verbose") {
                continue;
            }
            let shown = if enabled.is_empty() { "none configured".to_owned() } else { enabled.join("\n  ") };
            let _ = writeln!(text, "{}:\n  {shown}\n", arc.name);
            arcs.insert(arc.name.to_owned(), enabled.into());
        }
        if arcs.is_empty() {
            text.push_str("none configured\n\n");
        }
        all.insert(interface.name.clone(), arcs.into());
    }
    Ok(Reply::new(text, all.into()))
}
