//! `show node`, `show vlib graph`: a node with what is in front of it and behind it, where VPP's users look for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_engine::{Blueprint, Dataplane, NodeId, To};
use serde_json::json;

pub(crate) fn register(control: &Control) {
    let show =
        "Show a node: where its arcs lead, the packets that took them, and from where packets come; or list all nodes.";
    let show = Command::new("show node [<node:text>] [verbose]", show, show_node);
    let show = show.argument("node", "its name").argument("verbose", "also what each worker did there");
    control.commands().add(show);
    let show = "Show for each node, or for one, which nodes may be behind it, and which in front of it.";
    control
        .commands()
        .add(Command::new("show vlib graph [<node:text>]", show, show_graph).argument("node", "its name"));
}

type Names = BTreeSet<&'static str>;

/// Which nodes may be behind which, by which features are enabled.
struct Links {
    /// Arcs of features: the name of each, its features, and its end.
    arcs: Vec<(&'static str, Vec<&'static str>, &'static str)>,
    /// Next and previous nodes of each node.
    next: BTreeMap<&'static str, Names>,
    previous: BTreeMap<&'static str, Names>,
}

impl Links {
    fn of(graph: &Blueprint) -> Links {
        let arcs = graph
            .feature_arcs()
            .map(|(spec, features)| (spec.name, features.iter().map(|(feature, _)| feature.node).collect(), spec.end));
        let (arcs, next, previous) = (arcs.collect(), BTreeMap::new(), BTreeMap::new());
        let mut links = Links { arcs, next, previous };
        for node in graph.nodes() {
            let name = graph.name(node);
            let behind: Names = graph.arcs(node).iter().flat_map(|arc| links.targets(name, arc.to)).collect();
            behind.iter().for_each(|to| _ = links.previous.entry(to).or_default().insert(name));
            links.next.insert(name, behind);
        }
        links
    }

    /// Where an arc of a node may lead: to nodes, or to what is none.
    fn targets(&self, node: &str, to: To) -> Names {
        let mut found = Names::new();
        match to {
            To::Node(name) => _ = found.insert(name),
            To::Features(arc) => self.add_features(arc, None, &mut found),
            To::NextFeature => {
                let with = self.arcs.iter().filter(|(_, features, _)| features.contains(&node));
                with.for_each(|(arc, ..)| self.add_features(arc, Some(node), &mut found));
            }
            To::Drop => _ = found.insert("drop"),
            To::Punt => _ = found.insert("punt"),
            To::Out => _ = found.insert("the sending interface"),
            To::Done => {}
        }
        found
    }

    /// The features of an arc, behind one of them or all, and its end, which may be the beginning of another arc.
    fn add_features(&self, arc: &str, behind: Option<&str>, found: &mut Names) {
        let Some((name, features, end)) = self.arcs.iter().find(|(name, ..)| *name == arc) else { return };
        let place = behind.and_then(|node| features.iter().position(|feature| *feature == node));
        found.extend(features.iter().skip(place.map_or(0, |place| place + 1)));
        if end != name && self.arcs.iter().any(|(other, ..)| other == end) {
            self.add_features(end, None, found);
        } else {
            found.insert(end);
        }
    }

    fn next_of(&self, name: &str) -> Names {
        self.next.get(name).cloned().unwrap_or_default()
    }

    fn previous_of(&self, name: &str) -> Names {
        self.previous.get(name).cloned().unwrap_or_default()
    }
}

/// The node that a command names.
fn named(graph: &Blueprint, matches: &Matches) -> Result<Option<NodeId>, CommandError> {
    let Some(name) = matches.find::<String>("node")? else { return Ok(None) };
    let found = graph.find(&name);
    found.map(Some).map_err(|error| CommandError::new(error.to_string()).at(matches.place("node")))
}

fn show_node(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let Some(node) = named(graph, matches)? else { return Ok(list(graph)) };
    let (links, name, index) = (Links::of(graph), graph.name(node), node.index());
    let mut text = format!("node {name}, index {index}\n\n  next nodes:\n");
    let mut next = vec![];
    let _ = writeln!(text, "    {:>10}  {:^30} {:>12}  Node", "next-index", "Arc", "Vectors");
    for (number, arc) in graph.arcs(node).iter().enumerate() {
        let packets: u64 = graph.counters(node).map(|counters| counters.arcs[number].get()).sum();
        let to: Vec<&str> = links.targets(name, arc.to).into_iter().collect();
        let line = format!("    {number:>10}  {:^30} {packets:>12}  {}", arc.name, to.join(", "));
        let _ = writeln!(text, "{}", line.trim_end());
        next.push(json!({"index": number, "arc": arc.name, "packets": packets, "nodes": to}));
    }
    let before = links.previous_of(name);
    text.push_str("\n  known previous nodes:\n");
    for name in &before {
        let _ = writeln!(text, "    {name}");
    }
    if before.is_empty() {
        text.push_str("    none\n");
    }
    let mut workers = vec![];
    if matches.has("verbose") {
        let _ = writeln!(text, "\n{:>8} {:>14} {:>14} {:>16}", "Worker", "Calls", "Vectors", "Clocks");
    }
    for (worker, counters) in graph.counters(node).enumerate() {
        let [calls, packets, clocks] = [&counters.calls, &counters.packets, &counters.clocks].map(|count| count.get());
        if matches.has("verbose") {
            let _ = writeln!(text, "{worker:>8} {calls:>14} {packets:>14} {clocks:>16}");
        }
        workers.push(json!({"worker": worker, "calls": calls, "packets": packets, "clocks": clocks}));
    }
    let json = json!({"name": name, "index": index, "next": next, "previous": before, "workers": workers});
    Ok(Reply::new(text, json))
}

/// All nodes.
fn list(graph: &Blueprint) -> Reply {
    let mut table = Table::new(["Index", "Node", "Calls", "Vectors"]);
    for node in graph.nodes() {
        let (mut calls, mut packets) = (0, 0);
        for counters in graph.counters(node) {
            calls += counters.calls.get();
            packets += counters.packets.get();
        }
        let index = node.index() as u64;
        table.row([Cell::from(index), Cell::from(graph.name(node)), Cell::from(calls), Cell::from(packets)]);
    }
    table.into()
}

fn show_graph(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let nodes: Vec<NodeId> = match named(graph, matches)? {
        Some(node) => vec![node],
        None => graph.nodes().collect(),
    };
    let links = Links::of(graph);
    let (mut text, mut all) = (format!("{:^26}{:^34}{:^34}\n", "Name", "Next", "Previous"), vec![]);
    for node in nodes {
        let (next, before) = (links.next_of(graph.name(node)), links.previous_of(graph.name(node)));
        all.push(json!({"name": graph.name(node), "next": next, "previous": before}));
        let mut name = graph.name(node);
        let (mut next, mut before) = (next.into_iter(), before.into_iter());
        loop {
            let (to, from) = (next.next(), before.next());
            if to.is_none() && from.is_none() && name.is_empty() {
                break;
            }
            let line = format!("{name:<26}{:<34}{:<34}", to.unwrap_or_default(), from.unwrap_or_default());
            let _ = writeln!(text, "{}", line.trim_end());
            name = "";
        }
    }
    Ok(Reply::new(text, all.into()))
}
