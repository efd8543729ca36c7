//! The statistics as metrics with labels, for systems that gather those: the same segment that VPP's clients read, entry by
//! entry. What lies in a vector by interface or node gets labels for these, for the worker, and for the receive queue; rooms name other
//! labels ([`Naming`]).
//!
//! Vectors by route and by neighbour are left to the segment: a series for each of a million routes is no use to anybody.

use std::collections::{HashMap, HashSet};

use quiver_engine::KNOWN_AS;
use quiver_engine::stats::{Counter, Description, Index, Naming, Pair, Reading, Segment};

use crate::unit::unit_of;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only rise, but for a restart or a `clear`.
    Counter,
    /// They rise and fall.
    Gauge,
}

/// A metric: a name, and a point for each set of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, in words with an underscore between: `interface_rx_packets`.
    pub name: String,
    /// Help text: one sentence.
    pub help: String,
    /// Its unit, which is the end of its name.
    pub unit: Option<&'static str>,
    /// Type of its points.
    pub kind: Kind,
    /// Its points.
    pub points: Vec<Point>,
}

/// A value and its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Names and values.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u64,
}

/// Beginnings of entries' names in metrics' names; all others go on behind the slash.
const PREFIXES: [(&str, &str); 5] = [
    ("/if/", "interface_"),
    ("/quiver/if/", "interface_"),
    ("/sys/node/", "node_"),
    ("/quiver/workers/", "worker_"),
    ("/quiver/", ""),
];

/// Drops: symlinks whose names begin so, and go on with a node and a reason.
const DROPS: &str = "/err/";

/// Packets by arc, and the names of arcs: node and arc.
const ARCS: &str = "/quiver/arcs";
const ARC_NAMES: &str = "/quiver/arcs/names";

/// A copy of an entry's values, so that writers of the segment do not wait while they are formatted.
enum Copied {
    Simple(Vec<Vec<u64>>),
    Combined(Vec<Vec<[u64; 2]>>),
    Counter(u64),
    Gauge(u64),
    None,
}

impl Copied {
    fn of(reading: Reading) -> Copied {
        let pair = |pair: &Pair| [pair.packets.get(), pair.bytes.get()];
        match reading {
            Reading::Scalar(value) => Copied::Counter(value),
            Reading::Gauge(value) => Copied::Gauge(value),
            Reading::Simple(rows) => {
                Copied::Simple(rows.iter().map(|row| row.iter().map(Counter::get).collect()).collect())
            }
            Reading::Combined(rows) => {
                Copied::Combined(rows.iter().map(|row| row.iter().map(pair).collect()).collect())
            }
            Reading::Names(_) | Reading::Symlink { .. } => Copied::None,
        }
    }
}

/// All metrics of a segment, those of one name together, in the order of the directory. It may take long where there are many
/// interfaces: the control thread lets another one do it, after [`refresh_in_turns`](crate::refresh_in_turns).
pub fn metrics(segment: &Segment) -> Vec<Metric> {
    let mut names: HashMap<String, Vec<Option<String>>> = HashMap::new();
    let mut vectors: HashMap<String, Vec<Vec<u64>>> = HashMap::new();
    let mut links = vec![];
    segment.read(|name, reading| match reading {
        Reading::Names(texts) => {
            let texts = texts.iter().map(|text| text.map(str::to_owned)).collect();
            names.insert(name.to_owned(), texts);
        }
        Reading::Symlink { to, column, .. } if name.starts_with(DROPS) => {
            links.push((name.to_owned(), to.to_owned(), column as usize));
        }
        _ => {}
    });
    let linked: HashSet<&str> = links.iter().map(|(_, to, _)| to.as_str()).collect();
    let worker = Workers { first: usize::from(segment.threads().main) };
    let mut gathered = Gathered::default();
    for entry in segment.all_names() {
        let name = &*entry;
        let described = segment.description(name);
        let described = described.as_deref();
        let point = |value| [Point { labels: vec![], value }];
        match segment.read_one(name, Copied::of).unwrap_or(Copied::None) {
            Copied::Counter(value) => {
                gathered.add(words(name), &Help::of(name, described), Kind::Counter, point(value))
            }
            Copied::Gauge(value) => gathered.add(words(name), &Help::of(name, described), Kind::Gauge, point(value)),
            Copied::Simple(rows) => {
                if let Some(described) = described {
                    let family = Family::of(name, described, &names);
                    let points = match family.is_now {
                        true => family.now(&rows),
                        false => worker.points(&family, &rows, |value| *value),
                    };
                    gathered.add(family.name.clone(), &Help::of(name, Some(described)), Kind::Counter, points);
                }
                if linked.contains(name) {
                    vectors.insert(name.to_owned(), rows);
                }
            }
            Copied::Combined(rows) => {
                if let Some(described) = described {
                    let (family, help) = (Family::of(name, described, &names), Help::of(name, Some(described)));
                    let packets = worker.points(&family, &rows, |pair| pair[0]);
                    let bytes = worker.points(&family, &rows, |pair| pair[1]);
                    gathered.add(format!("{}_packets", family.name), &help, Kind::Counter, packets);
                    gathered.add(format!("{}_bytes", family.name), &help, Kind::Counter, bytes);
                }
            }
            Copied::None => {}
        }
    }
    let drops = Description::of("Packets dropped, by node and reason.");
    for (name, to, column) in &links {
        let of = &name[DROPS.len()..];
        // An arc that clients know by another name, too, counts once.
        let own = (to == ARCS).then(|| names.get(ARC_NAMES)?.get(*column)?.as_deref()).flatten();
        if own.is_some_and(|own| own != of) || to.starts_with(KNOWN_AS) {
            continue;
        }
        let Some((node, reason)) = of.split_once('/') else { continue };
        let points = vectors.get(to).into_iter().flat_map(|rows| rows.iter().enumerate().skip(worker.first));
        let points = points.filter_map(|(row, cells)| {
            let labels = vec![("node", node.to_owned()), ("reason", reason.to_owned()), worker.label(row)];
            Some(Point { labels, value: *cells.get(*column)? })
        });
        gathered.add("drops".into(), &Help::of(DROPS, Some(&drops)), Kind::Counter, points);
    }
    gathered.metrics
}

/// The name of an entry's metric: its letters and digits, with an underscore for all else.
fn words(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let known = PREFIXES.into_iter().find_map(|(prefix, short)| Some((short, name.strip_prefix(prefix)?)));
    let (short, rest) = known.unwrap_or(("", name.trim_start_matches('/')));
    short.chars().chain(rest.chars().map(word)).collect()
}

/// Common properties of the points of a vector.
struct Family<'n> {
    name: String,
    /// The name of an index's label, and its values.
    index: Option<(&'static str, &'n [Option<String>])>,
    /// The label of the last part of the entry's name, and its value.
    last: Option<(&'static str, &'n str)>,
    /// Whether there is one row, of current values.
    is_now: bool,
    /// Whether 0 means that the value is unknown.
    is_unknown_at_zero: bool,
}

impl<'n> Family<'n> {
    fn of(name: &'n str, described: &Description, names: &'n HashMap<String, Vec<Option<String>>>) -> Family<'n> {
        let texts = |label, list: &str| Some((label, names.get(list).map_or(&[][..], |texts| texts)));
        let label = match described.index {
            Index::ReceiveQueue => Some("queue"),
            Index::Named(naming) => naming.last,
            _ => None,
        };
        let parts = label.and_then(|label| name.rsplit_once('/').map(|(shared, part)| (shared, (label, part))));
        let (shared, last) = parts.map_or((name, None), |(shared, last)| (shared, Some(last)));
        let index = match described.index {
            Index::Thread => None,
            Index::Interface | Index::ReceiveQueue => texts("interface", "/if/names"),
            Index::Node => texts("node", "/sys/node/names"),
            Index::Named(Naming { label, names, .. }) => texts(label, names),
        };
        let is_now = described.is_gauge && described.index == Index::Interface;
        let name = described.metric.map_or_else(|| words(shared), str::to_owned);
        Family { name, index, last, is_now, is_unknown_at_zero: described.is_unknown_at_zero }
    }
    /// The points of current values that are known.
    fn now(&self, rows: &[Vec<u64>]) -> Vec<Point> {
        let cells = rows.first().into_iter().flat_map(|cells| cells.iter().enumerate());
        let known = cells.filter(|(_, cell)| **cell > 0 || !self.is_unknown_at_zero);
        known.filter_map(|(index, cell)| Some(Point { labels: self.labels(index)?, value: *cell })).collect()
    }
    /// The labels of an index; none if nothing has it any more.
    fn labels(&self, index: usize) -> Option<Vec<(&'static str, String)>> {
        let mut labels = vec![];
        if let Some((label, values)) = self.index {
            let value = values.get(index)?.as_ref().filter(|value| *value != "deleted")?;
            labels.push((label, value.clone()));
        }
        labels.extend(self.last.map(|(label, part)| (label, part.to_owned())));
        Some(labels)
    }
}

/// The rows of vectors that workers count in.
struct Workers {
    first: usize,
}

impl Workers {
    fn label(&self, row: usize) -> (&'static str, String) {
        ("worker", (row - self.first).to_string())
    }
    fn points<C>(&self, family: &Family, rows: &[Vec<C>], of: impl Fn(&C) -> u64) -> Vec<Point> {
        let mut points = vec![];
        for (row, cells) in rows.iter().enumerate().skip(self.first) {
            for (index, cell) in cells.iter().enumerate() {
                if let Some(mut labels) = family.labels(index) {
                    labels.push(self.label(row));
                    points.push(Point { labels, value: of(cell) });
                }
            }
        }
        points
    }
}

/// Metrics by name.
#[derive(Default)]
struct Gathered {
    metrics: Vec<Metric>,
    places: HashMap<String, usize>,
}

/// Help of an entry: its description, or a sentence that names the entry.
struct Help<'d> {
    entry: &'d str,
    described: Option<&'d Description>,
}

impl<'d> Help<'d> {
    fn of(entry: &'d str, described: Option<&'d Description>) -> Help<'d> {
        Help { entry, described }
    }
}

impl Gathered {
    fn add(&mut self, mut name: String, help: &Help<'_>, kind: Kind, points: impl IntoIterator<Item = Point>) {
        if let Some(unit) = help.described.and_then(|described| described.unit) {
            name = format!("{name}_{unit}");
        }
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            let unit = unit_of(&name);
            let (help, kind) = match help.described {
                Some(described) => {
                    let what = if unit == Some("bytes") { "Bytes" } else { "Packets" };
                    (described.help.replace("{}", what), if described.is_gauge { Kind::Gauge } else { kind })
                }
                None => (format!("{} of the statistics segment.", help.entry), kind),
            };
            self.metrics.push(Metric { name, help, unit, kind, points: vec![] });
            self.metrics.len() - 1
        });
        self.metrics[place].points.extend(points);
    }
}
