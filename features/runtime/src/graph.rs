//! `show graph`, `show features`: nodes, arcs, and what is enabled where.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Dataplane, Phase, To};

pub(crate) fn register(control: &Control) {
    let show = "Show every arc of the graph: where it leads, and the packets that took it.";
    control
        .commands()
        .add(Command::new("show graph [<node:text>]", show, show_graph).argument("node", "one node only"));
    let show = "Show which nodes take packets of which ethertypes, protocols and ports.";
    control.commands().add(Command::new("show demultiplexers", show, show_demultiplexers));
    let show = "Show the feature arcs, their features in order, and where each is enabled.";
    control.commands().add(Command::new("show features", show, show_features));
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

fn show_features(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let mut table = Table::new(["Arc", "Feature", "Phase", "Enabled on"]);
    for (arc, features) in dataplane.graph().feature_arcs() {
        for (feature, on) in &features {
            let names: Vec<_> = on.iter().map(|id| crate::interface_name(control, *id)).collect();
            let phase = feature.phase.map_or("", Phase::name);
            table.row([arc.name.into(), feature.node.into(), phase.into(), Cell::from(names.join(", "))]);
        }
        table.row([Cell::from(arc.name), Cell::from(format!("(end) {}", arc.end)), Cell::empty(), Cell::empty()]);
    }
    Ok(table.into())
}
