//! The statistics as metrics with labels, for systems that gather those: the same segment that VPP's clients read, entry by
//! entry. What lies in a vector by interface or node gets labels for these, for the worker, and for the receive queue.
//!
//! Vectors by route and by neighbour are left to the segment: a series for each of a million routes is no use to anybody.

use std::collections::{HashMap, HashSet};

use quiver_engine::KNOWN_AS;
use quiver_engine::stats::{Counter, Pair, Reading, Segment};

pub use crate::described::Kind;
use crate::described::{described, unit_of};

/// A metric: a name, and a point for each set of labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, in words with an underscore between: `interface_rx_packets`.
    pub name: String,
    /// Help text: one sentence.
    pub help: String,
    /// Its unit, which is the end of its name.
    pub unit: Option<&'static str>,
    /// What its points are.
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

/// By what the vectors whose names begin so are indexed.
const INDEXED: [(&str, By); 6] = [
    ("/if/", By::Interface),
    ("/quiver/if/", By::InterfaceNow),
    ("/net/arp/", By::Interface),
    ("/quiver/rx-queue/", By::QueueAndInterface),
    ("/sys/node/", By::Node),
    ("/quiver/workers/", By::Nothing),
];

#[derive(Clone, Copy)]
enum By {
    Interface,
    /// One row of what control knows, which rises and falls.
    InterfaceNow,
    /// The queue is the end of the name.
    QueueAndInterface,
    Node,
    /// There is one value for each thread.
    Nothing,
}

/// Drops: symlinks whose names begin so, and go on with a node and a reason.
const DROPS: &str = "/err/";

/// What took each arc, and what these are called: node and arc.
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
            let texts = texts.into_iter().map(|text| text.map(str::to_owned)).collect();
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
    for entry in segment.names(0, usize::MAX) {
        let name = &*entry;
        match segment.read_one(name, Copied::of).unwrap_or(Copied::None) {
            Copied::Counter(value) => {
                gathered.add(words(name), name, Kind::Counter, [Point { labels: vec![], value }]);
            }
            Copied::Gauge(value) => gathered.add(words(name), name, Kind::Gauge, [Point { labels: vec![], value }]),
            Copied::Simple(rows) => {
                if let Some(family) = Family::of(name, &names) {
                    let (kind, points) = match family.is_now {
                        true => (Kind::Gauge, family.now(&rows)),
                        false => (Kind::Counter, worker.points(&family, &rows, |value| *value)),
                    };
                    gathered.add(family.name.clone(), name, kind, points);
                }
                if linked.contains(name) {
                    vectors.insert(name.to_owned(), rows);
                }
            }
            Copied::Combined(rows) => {
                if let Some(family) = Family::of(name, &names) {
                    let packets = worker.points(&family, &rows, |pair| pair[0]);
                    let bytes = worker.points(&family, &rows, |pair| pair[1]);
                    gathered.add(format!("{}_packets", family.name), name, Kind::Counter, packets);
                    gathered.add(format!("{}_bytes", family.name), name, Kind::Counter, bytes);
                }
            }
            Copied::None => {}
        }
    }
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
        gathered.add("drops".into(), DROPS, Kind::Counter, points);
    }
    gathered.metrics
}

/// The words of a name: its letters and digits, with an underscore for all else.
fn words(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.trim_start_matches("/quiver").trim_start_matches('/').chars().map(word).collect()
}

/// What the points of a vector have in common.
struct Family<'n> {
    name: String,
    /// The name of an index's label, and its values.
    index: Option<(&'static str, &'n [Option<String>])>,
    queue: Option<&'n str>,
    /// Whether there is one row, of what is so now.
    is_now: bool,
    /// Whether 0 means that nobody knows.
    is_unknown_at_zero: bool,
}

impl<'n> Family<'n> {
    /// None if the vector is for clients of the segment only.
    fn of(name: &'n str, names: &'n HashMap<String, Vec<Option<String>>>) -> Option<Family<'n>> {
        let (prefix, by) = INDEXED.into_iter().find(|(prefix, _)| name.starts_with(prefix))?;
        let rest = &name[prefix.len()..];
        let texts = |list: &str| names.get(list).map_or(&[][..], |texts| texts);
        let interface = Some(("interface", texts("/if/names")));
        let (name, index) = match by {
            By::Interface if prefix != "/if/" => (words(name), interface),
            By::Interface | By::InterfaceNow => (format!("interface_{}", words(rest)), interface),
            By::QueueAndInterface => ("rx_queue".into(), interface),
            By::Node => (format!("node_{}", words(rest)), Some(("node", texts("/sys/node/names")))),
            By::Nothing => (format!("worker_{}", words(rest)), None),
        };
        let queue = matches!(by, By::QueueAndInterface).then_some(rest);
        let is_unknown_at_zero = rest == "link-speed-kbps";
        Some(Family { name, index, queue, is_now: matches!(by, By::InterfaceNow), is_unknown_at_zero })
    }
    /// The points of what is so now, and known.
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
        labels.extend(self.queue.map(|queue| ("queue", queue.to_owned())));
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

impl Gathered {
    fn add(&mut self, mut name: String, entry: &str, kind: Kind, points: impl IntoIterator<Item = Point>) {
        let described = described(entry);
        if let Some(unit) = described.as_ref().and_then(|described| described.unit) {
            name = format!("{name}_{unit}");
        }
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            let unit = unit_of(&name);
            let (help, kind) = match described {
                Some(described) => {
                    let what = if unit == Some("bytes") { "Bytes" } else { "Packets" };
                    (described.help.replace("{}", what), described.kind.unwrap_or(kind))
                }
                None => (format!("{entry} of the statistics segment."), kind),
            };
            self.metrics.push(Metric { name, help, unit, kind, points: vec![] });
            self.metrics.len() - 1
        });
        self.metrics[place].points.extend(points);
    }
}
