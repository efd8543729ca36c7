//! `show graph`, `show features`: nodes, arcs, and what is enabled where.

use std::fmt::Write;

use quiver_control::cli::{Cell, Command, CommandError, Listing, Matches, Output, Reply, Rows, Table};
use quiver_control::{Control, one_by_one};
use quiver_engine::graph::FeaturePlace;
use quiver_engine::{Dataplane, FeatureSpec, Phase, To};
use quiver_interface::{Interfaces, chosen};

/// Names of interfaces in a row of `show features`. Very many are in several rows.
const NAMES_MAX: usize = 16;

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
        Command::waiting("show features [verbose]", show, show_features)
            .argument("verbose", "also the place of each on its arc"),
    );
    let show = "Show which features are enabled on an interface, or on each, arc by arc.";
    let show = Command::waiting("show interface features [<interface>] [verbose]", show, show_features_of);
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

async fn show_features(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Arc", "Feature", "Phase", "Enabled on"].into_iter();
    let is_verbose = matches.has("verbose");
    let mut rows = Rows::new(&control, &output, titles.chain(is_verbose.then_some("Place")));
    // An arc's name, its features with their phases and places, and its end.
    let arcs: Vec<_> = {
        let dataplane = control.room::<Dataplane>();
        let of = |(feature, place): (&FeatureSpec, FeaturePlace)| {
            (feature.node, feature.phase.map_or("", Phase::name), place)
        };
        let arcs = dataplane.graph().feature_arcs();
        arcs.map(|(arc, features)| (arc.name, features.into_iter().map(of).collect::<Vec<_>>(), arc.end)).collect()
    };
    for (arc, features, end) in arcs {
        let place_of = |place: usize| is_verbose.then(|| Cell::from(place as u64));
        let all = features.len();
        for (number, (node, phase, place)) in features.into_iter().enumerate() {
            let row = |names: &[String]| {
                let names = Cell::from(names.join(", "));
                [arc.into(), node.into(), phase.into(), names].into_iter().chain(place_of(number))
            };
            let enabled = one_by_one(|last| {
                let dataplane = control.room::<Dataplane>();
                dataplane.graph().enabled_behind(place, last.copied()).map(|id| (id, id))
            });
            let mut names = vec![];
            for id in enabled {
                rows.step().await;
                if names.len() == NAMES_MAX {
                    rows.row(row(&names));
                    names.clear();
                }
                names.push(crate::interface_name(&control, id));
            }
            rows.step().await;
            rows.row(row(&names));
        }
        let end = Cell::from(format!("(end) {end}"));
        rows.row([Cell::from(arc), end, Cell::empty(), Cell::empty()].into_iter().chain(place_of(all)));
    }
    Ok(rows.end())
}

/// In VPP's layout.
async fn show_features_of(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &matches)? {
        listing.step().await;
        let (dataplane, interfaces) = (control.room::<Dataplane>(), control.room::<Interfaces>());
        let Some(interface) = interfaces.get(id) else { continue };
        let text = listing.text();
        let _ = writeln!(text, "Feature paths configured on {}...\n", interface.name);
        let mut arcs = serde_json::Map::new();
        for (arc, features) in dataplane.graph().feature_arcs() {
            let graph = dataplane.graph();
            let enabled = features.iter().filter(|(_, place)| graph.is_enabled_on(*place, id.0));
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
        listing.entry(&interface.name, || arcs.into());
    }
    Ok(listing.end())
}
