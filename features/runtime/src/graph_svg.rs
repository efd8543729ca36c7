//! `show graph svg`: the graph as a picture, with what passes now.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Output, Reply};
use quiver_engine::{Dataplane, NodeId, To};
use serde_json::json;

/// Seconds over which rates are taken if nobody says.
const SECONDS: u32 = 1;
/// Seconds at most.
const SECONDS_MAX: u32 = 3600;
/// Text of a picture without lines.
const EMPTY: &str = "No packet passed while packets were counted.";

/// Pixels between a column's boxes and the next's, from row to row at least, and the size of a box, which is wider if a name is.
const GAP: usize = 90;
const ROW: usize = 44;
const BOX: (usize, usize) = (150, 28);
/// Pixels beside the picture: ways back bend there, and rates of what they lead to are written there.
const MARGIN: usize = 60;
/// Pixels of a letter, in a font that is wider than most; and from one rate to the next where several lines end.
const LETTER: usize = 7;
const RATE: usize = 13;

pub(crate) fn register(control: &Control) {
    let help = "Draw the nodes that forward packets now, with packets per second on each arc: `quiver show graph svg > graph.svg`.";
    let show = Command::waiting("show graph svg [seconds <seconds:u32>]", help, show);
    control.commands().add(show.argument("seconds", "seconds of counting; default 1"));
}

/// Where an arc leads in the picture.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Node(&'static str),
    FeatureArc(&'static str),
    /// Packets are lost here.
    Drop(String),
    /// Packets leave the graph here.
    End(&'static str),
}

/// A line of the picture.
struct Line {
    from: Place,
    to: Place,
    /// The arc's name; empty where a feature arc leads to its features.
    name: &'static str,
    /// Packets per second, where they are known.
    rate: Option<f64>,
}

/// Packets so far by node and arc.
fn counts(dataplane: &Dataplane) -> BTreeMap<(NodeId, usize), u64> {
    let graph = dataplane.graph();
    let sum = |node, arc: usize| graph.counters(node).map(|counters| counters.arcs[arc].get()).sum();
    let of = |node| (0..graph.arcs(node).len()).map(move |arc| ((node, arc), sum(node, arc)));
    graph.nodes().flat_map(of).collect()
}

async fn show(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let seconds: u32 = matches.find("seconds")?.unwrap_or(SECONDS);
    if !(1..=SECONDS_MAX).contains(&seconds) {
        let wrong = format!("packets cannot be counted for {seconds} seconds; say 1 to {SECONDS_MAX}");
        return Err(CommandError::new(wrong).at(matches.place("seconds")));
    }
    let before = counts(&control.room::<Dataplane>());
    control.sleep(Duration::from_secs(seconds.into())).await;
    let picture = draw(&lines(&control.room::<Dataplane>(), &before, seconds));
    Ok(Reply::new(picture.clone(), json!({"seconds": seconds, "svg": picture})))
}

/// The lines that packets took.
fn lines(dataplane: &Dataplane, before: &BTreeMap<(NodeId, usize), u64>, seconds: u32) -> Vec<Line> {
    let graph = dataplane.graph();
    // What the last part of a feature arc leads to.
    let of_feature = |node| {
        let arcs = graph.feature_arcs();
        arcs.filter(|(_, features)| features.iter().any(|(feature, _)| feature.node == node))
            .map(|(arc, _)| arc.name)
            .next()
    };
    let mut lines = vec![];
    for ((node, arc), count) in counts(dataplane) {
        let passed = count.saturating_sub(before.get(&(node, arc)).copied().unwrap_or(0));
        if passed == 0 {
            continue;
        }
        let (name, arc) = (graph.name(node), graph.arcs(node)[arc]);
        let to = match arc.to {
            To::Node(to) => Place::Node(to),
            To::Features(to) => Place::FeatureArc(to),
            To::Drop => Place::Drop(format!("{name}: {}", arc.name)),
            To::Done => Place::End("done"),
            To::Punt => Place::End("control"),
            To::Out => Place::End("sent"),
            To::NextFeature => of_feature(name).map_or(Place::End("next feature"), Place::FeatureArc),
        };
        let rate = Some(passed as f64 / f64::from(seconds));
        lines.push(Line { from: Place::Node(name), to, name: arc.name, rate });
    }
    let busy: BTreeSet<_> = lines.iter().map(|line| line.from.clone()).collect();
    let entered: BTreeSet<_> = lines.iter().map(|line| line.to.clone()).collect();
    for (arc, features) in graph.feature_arcs().filter(|(arc, _)| entered.contains(&Place::FeatureArc(arc.name))) {
        let ends = features.iter().map(|(feature, _)| feature.node).chain([arc.end]);
        for to in ends.map(Place::Node).filter(|to| busy.contains(to)) {
            lines.push(Line { from: Place::FeatureArc(arc.name), to, name: "", rate: None });
        }
    }
    lines
}

/// The column of each place: behind all that lead to it, but for ways back.
fn columns(lines: &[Line]) -> BTreeMap<&Place, usize> {
    let mut columns: BTreeMap<&Place, usize> =
        lines.iter().flat_map(|line| [&line.from, &line.to]).map(|place| (place, 0)).collect();
    let ways_back = ways_back(lines);
    loop {
        let mut moved = false;
        for (n, line) in lines.iter().enumerate() {
            let behind = columns[&line.from] + 1;
            if columns[&line.to] < behind && !ways_back.contains(&n) {
                columns.insert(&line.to, behind);
                moved = true;
            }
        }
        if !moved {
            return columns;
        }
    }
}

/// The lines, by number, that lead back to where their packets have been: without them nothing circles.
fn ways_back(lines: &[Line]) -> BTreeSet<usize> {
    let entered: BTreeSet<_> = lines.iter().map(|line| &line.to).collect();
    let mut from: BTreeMap<&Place, Vec<usize>> = BTreeMap::new();
    lines.iter().enumerate().for_each(|(n, line)| from.entry(&line.from).or_default().push(n));
    // Packets begin where no line leads to.
    let mut starts: Vec<_> = from.keys().copied().collect();
    starts.sort_by_key(|place| entered.contains(place));
    let (mut seen, mut back) = (BTreeSet::new(), BTreeSet::new());
    for start in starts {
        // The way from the start to here, each place with its lines that are still to be followed.
        let mut way: Vec<(&Place, &[usize])> = vec![];
        if seen.insert(start) {
            way.push((start, &from[start]));
        }
        while let Some((_, rest)) = way.last_mut() {
            let Some((n, others)) = rest.split_first() else {
                way.pop();
                continue;
            };
            *rest = others;
            let to = &lines[*n].to;
            if way.iter().any(|(place, _)| *place == to) {
                back.insert(*n);
            } else if seen.insert(to)
                && let Some(next) = from.get(to)
            {
                way.push((to, next));
            }
        }
    }
    back
}

/// A rate as people read it.
fn said(rate: f64) -> String {
    match rate {
        1e6.. => format!("{:.1} M/s", rate / 1e6),
        1e3.. => format!("{:.1} k/s", rate / 1e3),
        _ => format!("{rate:.0}/s"),
    }
}

impl Place {
    fn name(&self) -> &str {
        match self {
            Place::Node(name) | Place::FeatureArc(name) | Place::End(name) => name,
            Place::Drop(name) => name,
        }
    }
}

/// The picture.
fn draw(lines: &[Line]) -> String {
    let columns = columns(lines);
    let letters = columns.keys().map(|place| place.name().chars().count()).max().unwrap_or(0);
    let wide = BOX.0.max(letters * LETTER + 12);
    // Rates that are written at a place's left: all in one column, so that none is written on another.
    let mut rates = BTreeMap::<&Place, usize>::new();
    lines.iter().filter(|line| line.rate.is_some()).for_each(|line| *rates.entry(&line.to).or_default() += 1);
    let (mut ends, mut places) = (BTreeMap::<usize, usize>::new(), BTreeMap::new());
    for (place, column) in &columns {
        let end = ends.entry(*column).or_insert(22);
        let high = ROW.max(rates.get(place).copied().unwrap_or(0) * RATE + 8);
        places.insert(*place, (MARGIN + column * (wide + GAP), *end + (high - BOX.1) / 2));
        *end += high;
    }
    let text = if lines.is_empty() { EMPTY.len() * LETTER } else { 0 };
    let width = (2 * MARGIN + wide + columns.values().max().unwrap_or(&0) * (wide + GAP)).max(text + 40);
    let height = 38 + ends.values().max().unwrap_or(&ROW);
    let mut written = BTreeMap::<&Place, usize>::new();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    if lines.is_empty() {
        let _ = writeln!(svg, "<text x=\"20\" y=\"24\">{EMPTY}</text>");
    }
    for line in lines {
        let ((x, y), (to_x, to_y)) = (places[&line.from], places[&line.to]);
        let (x, y, to_y) = (x + wide, y + BOX.1 / 2, to_y + BOX.1 / 2);
        let (half, thick) = ((wide + GAP) / 4, 1.0 + line.rate.unwrap_or(0.0).max(1.0).log10() / 2.0);
        let colour = if matches!(line.to, Place::Drop(_)) { "#c0392b" } else { "#4a6fa5" };
        let (bend, to_bend) = (x + half, to_x.saturating_sub(half));
        let _ = writeln!(
            svg,
            "<path d=\"M{x} {y} C{bend} {y} {to_bend} {to_y} {to_x} {to_y}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"{thick:.1}\"><title>{}</title></path>",
            escaped(line.name)
        );
        if let Some(rate) = line.rate {
            // Beside its end, above the line; where several lines end, below each other around it.
            let (of, place) = (rates[&line.to], written.entry(&line.to).or_default());
            let (x, y) = (to_x.saturating_sub(4), (to_y + *place * RATE).saturating_sub(3 + (of - 1) * RATE / 2));
            *place += 1;
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\" fill=\"#555\">{}</text>", said(rate));
        }
    }
    for (place, (x, y)) in &places {
        let (round, fill) = match place {
            Place::Node(_) => (3, "#eef3fa"),
            Place::FeatureArc(_) => (14, "#f7f2e2"),
            Place::Drop(_) => (3, "#fbe9e7"),
            Place::End(_) => (3, "#e6f4ea"),
        };
        let (middle, base) = (x + wide / 2, y + BOX.1 / 2 + 4);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"#889\"/>\
             <text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{}</text>",
            wide,
            BOX.1,
            escaped(place.name())
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(from: &'static str, to: Place, rate: f64) -> Line {
        Line { from: Place::Node(from), to, name: "next", rate: Some(rate) }
    }

    #[test]
    fn lines_go_to_the_right_but_for_ways_back() {
        let lines = [
            line("input", Place::Node("lookup"), 2e6),
            line("lookup", Place::Node("rewrite"), 1e6),
            line("lookup", Place::Drop("lookup: no-route".into()), 10.0),
            line("rewrite", Place::Node("lookup"), 5.0),
            line("rewrite", Place::End("sent"), 1e3),
        ];
        let columns = columns(&lines);
        let of = |name| columns[&Place::Node(name)];
        assert!(of("input") < of("lookup") && columns[&Place::End("sent")] > of("rewrite"));
        let picture = draw(&lines);
        for said in ["2.0 M/s", "10/s", "1.0 k/s", "lookup: no-route", ">input<"] {
            assert!(picture.contains(said), "{said}: {picture}");
        }
        assert_eq!(picture.matches("<path").count(), lines.len());
        // The way back is the one from behind, not all lines of the circle.
        let places = ["input", "lookup", "rewrite"].map(of);
        assert_eq!(places, [0, 1, 2]);
        assert_eq!(ways_back(&lines), BTreeSet::from([3]));
    }

    #[test]
    fn without_packets_the_picture_says_so() {
        let picture = draw(&[]);
        assert!(picture.contains(&format!(">{EMPTY}<")), "{picture}");
        // All of the text is in sight, in the widest font.
        let width = picture.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split(' ').next());
        let width: usize = width.and_then(|width| width.parse().ok()).expect("a width");
        assert!(width >= 20 + EMPTY.len() * LETTER, "{width}");
    }
}
