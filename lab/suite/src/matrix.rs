//! Suites in files: read with the place of everything, expanded into cases.

use std::collections::HashMap;

use quiver_control::config::{Data, Entry, Malformed, Node, read_yaml};
use quiver_control::serde_json::Value;

use crate::field::{
    Buffers, Device, Driver, Encap, Feature, Frame, Function, Keyword, Load, Pace, Scale, Search, Shape, Window,
};
use crate::rules::contradiction;
use crate::{Case, Position};

/// More cores, memory or cases are a mistake.
const CORES_MAX: u16 = 256;
const MEMORY_GIB_MAX: u16 = 1024;
const CASES_MAX: usize = 100_000;

/// Memory of a suite that does not state it, in GiB.
const MEMORY_GIB: u16 = 1;

/// The fields of a suite.
const FIELDS: [&str; 15] = [
    "function",
    "scale",
    "shape",
    "encap",
    "feature",
    "device",
    "driver",
    "buffers",
    "frame",
    "cores",
    "pace",
    "search",
    "load",
    "window",
    "memory-gib",
];

/// An error in a suite's file, with its place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {what}; {remedy}", at.line, at.column)]
pub struct SuiteError {
    /// The file, as it was named.
    pub file: String,
    /// The place in it.
    pub at: Position,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// A value, and where it stands.
#[derive(Clone, Copy)]
struct Placed<T> {
    value: T,
    at: Position,
}

/// A suite: what its cases are made of.
struct Matrix {
    functions: Vec<Placed<Function>>,
    scales: Vec<Placed<Scale>>,
    shapes: Vec<Placed<Shape>>,
    encaps: Vec<Placed<Encap>>,
    features: Vec<Placed<Feature>>,
    devices: Vec<Placed<Device>>,
    drivers: Vec<Placed<Driver>>,
    buffers: Vec<Placed<Buffers>>,
    frames: Vec<Placed<Frame>>,
    cores: Vec<Placed<u16>>,
    paces: Vec<Placed<Pace>>,
    searches: Vec<Placed<Search>>,
    loads: Vec<Placed<Option<Load>>>,
    windows: Vec<Placed<Option<Window>>>,
    memory_gib: u16,
}

/// The cases of files, each a name and a text, in the order of the files, or all that is wrong with them. Names of cases are
/// unique.
pub fn read<'text>(files: impl IntoIterator<Item = (&'text str, &'text str)>) -> Result<Vec<Case>, Vec<SuiteError>> {
    let (mut cases, mut errors) = (Vec::new(), Vec::new());
    let mut seen: HashMap<String, (String, Position)> = HashMap::new();
    for (file, text) in files {
        let mut reader = Reader { file, errors: Vec::new() };
        let (root, malformed) = read_yaml(text);
        for Malformed { at, what, remedy } in malformed {
            reader.refuse(at, what, remedy);
        }
        for suite in root.map(|root| reader.suites(root)).unwrap_or_default() {
            let at = suite.at;
            let Some(matrix) = reader.matrix(suite) else { continue };
            let fresh = reader.expand(&matrix, CASES_MAX.saturating_sub(cases.len()), at);
            for case in fresh {
                if let Some((file, first)) = seen.get(&case.name()) {
                    let what =
                        format!("case '{}' is here again, first of the suite in {file}:{}", case.name(), first.line);
                    reader.refuse(at, what, "leave it out of one of them");
                    break;
                }
                seen.insert(case.name(), (file.to_owned(), at));
                cases.push(case);
            }
        }
        reader.errors.sort_by_key(|error| error.at);
        errors.extend(reader.errors);
    }
    if errors.is_empty() { Ok(cases) } else { Err(errors) }
}

struct Reader<'file> {
    file: &'file str,
    errors: Vec<SuiteError>,
}

impl Reader<'_> {
    fn refuse(&mut self, at: Position, what: impl Into<String>, remedy: impl Into<String>) {
        let error = SuiteError { file: self.file.to_owned(), at, what: what.into(), remedy: remedy.into() };
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// The list below `suites`.
    fn suites(&mut self, root: Node) -> Vec<Node> {
        let at = root.at;
        let Data::Mapping(entries) = root.data else {
            self.refuse(at, "this is no file of suites", "begin with 'suites:', and below it a list");
            return Vec::new();
        };
        let mut suites = Vec::new();
        for Entry { name, at, value } in entries {
            match value.data {
                Data::List(items) if name == "suites" => suites.extend(items),
                _ if name == "suites" => self.refuse(value.at, "'suites' is no list", "begin each suite with '-'"),
                _ => self.refuse(at, format!("'{name}' is nothing here"), "a file has 'suites' only"),
            }
        }
        suites
    }

    /// A suite, if nothing is wrong with its fields by themselves.
    fn matrix(&mut self, suite: Node) -> Option<Matrix> {
        let at = suite.at;
        let Data::Mapping(entries) = suite.data else {
            self.refuse(at, "a suite has fields", format!("give it some of {}", FIELDS.join(", ")));
            return None;
        };
        let known = self.errors.len();
        for entry in entries.iter().filter(|entry| !FIELDS.contains(&entry.name.as_str())) {
            let what = format!("'{}' is no field of a suite", entry.name);
            self.refuse(entry.at, what, format!("fields are {}", FIELDS.join(", ")));
        }
        let entries = Entries { at, entries: &entries };
        let matrix = Matrix {
            functions: self.words(entries, None),
            scales: self.values(
                entries,
                "scale",
                Some(Scale::Base),
                &format!("'base' or a number up to {}, such as 20k or 2m", Scale::ENTRIES_MAX),
                Scale::parse,
            ),
            shapes: self.words(entries, Some(Shape::Dense)),
            encaps: self.words(entries, Some(Encap::Eth)),
            features: self.words(entries, Some(Feature::None)),
            devices: self.words(entries, Some(Device::Quiver)),
            drivers: self.words(entries, None),
            buffers: self.words(entries, Some(Buffers::Copied)),
            frames: self.values(entries, "frame", None, "'imix' or 64 to 9000 bytes", Frame::parse),
            cores: self.values(entries, "cores", Some(1), "a number from 1 to 256", |word| number(word, CORES_MAX)),
            paces: self.words(entries, Some(Pace::Own)),
            searches: self.words(entries, None),
            loads: self.values(entries, "load", Some(None), "a number of Mbit/s up to 1000000", |word| {
                Load::parse(word).map(Some)
            }),
            windows: self.values(entries, "window", Some(None), "a number of packets from 1 to 1024", |word| {
                Window::parse(word).map(Some)
            }),
            memory_gib: {
                let memory = |word: &str| number(word, MEMORY_GIB_MAX);
                let memory = self.values(entries, "memory-gib", Some(MEMORY_GIB), "a number from 1 to 1024", memory);
                if let [_, second, ..] = memory[..] {
                    self.refuse(second.at, "'memory-gib' is one number", "give another amount to a suite of its own");
                }
                memory.first().map_or(MEMORY_GIB, |memory| memory.value)
            },
        };
        (self.errors.len() == known).then_some(matrix)
    }

    /// The values of a field that has a few.
    fn words<T: Keyword>(&mut self, entries: Entries<'_>, default: Option<T>) -> Vec<Placed<T>> {
        let words: Vec<_> = T::ALL.iter().map(|value| value.word()).collect();
        let expected = format!("one of {}", words.join(", "));
        let value = |word: &str| T::ALL.iter().copied().find(|value| value.word() == word);
        self.values(entries, T::FIELD, default, &expected, value)
    }

    /// The values of a field: one, or a list.
    fn values<T>(
        &mut self,
        entries: Entries<'_>,
        field: &str,
        default: Option<T>,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Vec<Placed<T>> {
        let Some(entry) = entries.entries.iter().find(|entry| entry.name == field) else {
            if default.is_none() {
                self.refuse(entries.at, format!("a suite without '{field}'"), format!("'{field}' is {expected}"));
            }
            return default.map(|value| Placed { value, at: entries.at }).into_iter().collect();
        };
        let nodes: Vec<&Node> = match &entry.value.data {
            Data::List(items) => items.iter().collect(),
            _ => vec![&entry.value],
        };
        if nodes.is_empty() {
            self.refuse(entry.value.at, format!("'{field}' has no value"), format!("'{field}' is {expected}"));
        }
        let mut words: Vec<String> = Vec::new();
        let mut values = Vec::new();
        for node in nodes {
            let word = match &node.data {
                Data::Scalar(Value::String(word)) => word.clone(),
                Data::Scalar(Value::Number(number)) => number.to_string(),
                _ => String::new(),
            };
            match parse(&word) {
                Some(_) if words.contains(&word) => {
                    self.refuse(node.at, format!("'{word}' is here again"), "leave one of them out");
                }
                Some(value) => values.push(Placed { value, at: node.at }),
                None if word.is_empty() => {
                    self.refuse(
                        node.at,
                        format!("'{field}' has a value that is none"),
                        format!("'{field}' is {expected}"),
                    );
                }
                None => {
                    self.refuse(node.at, format!("{field} '{word}' is unknown"), format!("'{field}' is {expected}"))
                }
            }
            words.push(word);
        }
        values
    }

    /// All cases of a matrix, or what contradicts itself in it.
    fn expand(&mut self, matrix: &Matrix, cases_max: usize, at: Position) -> Vec<Case> {
        if matrix.size() > cases_max {
            let what = format!("a suite of {} cases, beyond {CASES_MAX} in all", matrix.size());
            self.refuse(at, what, "give fewer values");
            return Vec::new();
        }
        let mut cases = Vec::new();
        for point in 0..matrix.size() {
            let (case, places) = matrix.case(point);
            let Some(clash) = contradiction(&case) else {
                cases.push(case);
                continue;
            };
            let place = |field| places.iter().find(|(name, _)| *name == field).map(|(_, place)| *place);
            // A field that is not given is not to blame.
            let given = [clash.field, clash.other].into_iter().filter_map(place).find(|place| *place != at);
            self.refuse(given.unwrap_or(at), clash.what, clash.remedy);
        }
        cases
    }
}

/// The fields of a suite, and where it begins.
#[derive(Clone, Copy)]
struct Entries<'file> {
    at: Position,
    entries: &'file [Entry],
}

fn number(word: &str, max: u16) -> Option<u16> {
    word.parse().ok().filter(|number| (1..=max).contains(number))
}

impl Matrix {
    fn lengths(&self) -> [usize; 14] {
        [
            self.functions.len(),
            self.scales.len(),
            self.shapes.len(),
            self.encaps.len(),
            self.features.len(),
            self.devices.len(),
            self.drivers.len(),
            self.buffers.len(),
            self.paces.len(),
            self.searches.len(),
            self.loads.len(),
            self.windows.len(),
            self.frames.len(),
            self.cores.len(),
        ]
    }

    /// How many cases there are, at most as many as can be counted.
    fn size(&self) -> usize {
        self.lengths().into_iter().fold(1, usize::saturating_mul)
    }

    /// A case by its number, and where its fields stand; the last field changes first.
    fn case(&self, point: usize) -> (Case, [(&'static str, Position); 14]) {
        let mut rest = point;
        let mut at = [0; 14];
        for (at, length) in at.iter_mut().zip(self.lengths()).rev() {
            *at = rest % length;
            rest /= length;
        }
        let [function, scale, shape, encap, feature, device, driver, buffers, pace, search, load, window, frame, cores] =
            at;
        let (function, scale, shape) = (self.functions[function], self.scales[scale], self.shapes[shape]);
        let (encap, window) = (self.encaps[encap], self.windows[window]);
        let (feature, device, driver) = (self.features[feature], self.devices[device], self.drivers[driver]);
        let (pace, search, load) = (self.paces[pace], self.searches[search], self.loads[load]);
        let (buffers, frame, cores) = (self.buffers[buffers], self.frames[frame], self.cores[cores]);
        let case = Case {
            function: function.value,
            scale: scale.value,
            shape: shape.value,
            encap: encap.value,
            feature: feature.value,
            device: device.value,
            driver: driver.value,
            buffers: buffers.value,
            frame: frame.value,
            cores: cores.value,
            pace: pace.value,
            search: search.value,
            load: load.value,
            window: window.value,
            memory_gib: self.memory_gib,
            ports: None,
        };
        let places = [
            (Function::FIELD, function.at),
            ("scale", scale.at),
            (Shape::FIELD, shape.at),
            (Encap::FIELD, encap.at),
            (Feature::FIELD, feature.at),
            (Device::FIELD, device.at),
            (Driver::FIELD, driver.at),
            (Buffers::FIELD, buffers.at),
            (Pace::FIELD, pace.at),
            (Search::FIELD, search.at),
            ("load", load.at),
            ("window", window.at),
            ("frame", frame.at),
            ("cores", cores.at),
        ];
        (case, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "suites:\n  - function: l2xc\n    driver: [memif, tap]\n    frame: [64, imix]\n    \
        cores: [1, 2]\n    search: mrr\n";

    fn errors(text: &str) -> Vec<String> {
        read([("a.yaml", text)]).unwrap_err().iter().map(SuiteError::to_string).collect()
    }

    #[test]
    fn a_matrix_has_all_its_cases() {
        let cases = read([("a.yaml", GOOD)]).unwrap();
        let names: Vec<_> = cases.iter().map(Case::name).collect();
        assert_eq!(
            names,
            [
                "64b-1c-1n1l-memif-eth-l2xcbase-mrr",
                "64b-2c-1n1l-memif-eth-l2xcbase-mrr",
                "imix-1c-1n1l-memif-eth-l2xcbase-mrr",
                "imix-2c-1n1l-memif-eth-l2xcbase-mrr",
                "64b-1c-1n1l-tap-eth-l2xcbase-mrr",
                "64b-2c-1n1l-tap-eth-l2xcbase-mrr",
                "imix-1c-1n1l-tap-eth-l2xcbase-mrr",
                "imix-2c-1n1l-tap-eth-l2xcbase-mrr",
            ]
        );
    }

    #[test]
    fn contradictions_are_refused_with_their_line() {
        let kernel = "suites:\n  - function: l2bd\n    device: linux\n    driver: [tap, memif]\n    frame: 64\n    search: mrr\n";
        assert_eq!(
            errors(kernel),
            ["a.yaml:4:19: driver 'memif' contradicts device 'linux'; \
            the kernel is joined by 'tap' or 'veth'; give it a suite of its own"]
        );
        let reconf =
            "suites:\n  - function: l2xc\n    driver: memif\n    frame: [64, 1518]\n    search: [mrr, reconf]\n";
        assert_eq!(
            errors(reconf),
            ["a.yaml:5:19: search 'reconf' contradicts function 'l2xc'; \
            routes are what is added under load: function 'ip4' or 'ip6'"]
        );
        let power = "suites:\n  - function: ip4\n    device: [quiver, linux]\n    driver: veth\n    frame: 64\n    pace: polling\n    \
            search: [power, mrr]\n    load: 500\n";
        assert_eq!(
            errors(power),
            [
                "a.yaml:6:11: pace 'polling' contradicts device 'linux'; the kernel has its own: 'own'",
                "a.yaml:8:11: load '500' contradicts search 'mrr'; \
                a search finds its load itself: leave 'load' out, or give it to 'power' or 'endurance'",
            ]
        );
        assert_eq!(
            errors(&power.replace("linux", "vpp").replace("    load: 500\n", "").replace(", mrr", "")),
            ["a.yaml:7:14: search 'power' contradicts load 'none'; its load is the same all the time: give 'load'"]
        );
        let vpp = power.replace("[quiver, linux]", "[quiver, vpp]").replace(", mrr", "");
        assert!(read([("a.yaml", vpp.as_str())]).is_ok());
        assert_eq!(
            errors(&vpp.replace("pace: polling", "pace: [polling, adaptive]")),
            ["a.yaml:6:21: pace 'adaptive' contradicts driver 'veth'; \
                VPP's host interfaces have no adaptive rx-mode: 'polling', or driver 'memif' or 'tap'"]
        );
        let six = "suites:\n  - function: [ip4, ip6]\n    driver: memif\n    frame: [64, 78, imix]\n    search: mrr\n";
        assert_eq!(
            errors(six),
            [
                "a.yaml:4:13: frame '64' contradicts function 'ip6'; \
                    packets of IPv6 have 78 bytes and more here, as CSIT's: 78 to 9000",
                "a.yaml:4:21: frame 'imix' contradicts function 'ip6'; \
                    packets of IPv6 have 78 bytes and more here, as CSIT's: 78 to 9000",
            ]
        );
        let shaped = "suites:\n  - function: ip4\n    shape: bgp\n    driver: memif\n    frame: 64\n    search: mrr\n    window: 8\n";
        assert_eq!(
            errors(shaped),
            [
                "a.yaml:3:12: shape 'bgp' contradicts scale 'base'; so many routes have no such shape: 'dense', or 1k to 2m"
            ]
        );
        assert_eq!(
            errors(&shaped.replace("bgp", "dense")),
            ["a.yaml:7:13: window '8' contradicts search 'mrr'; \
                only a closed loop has one: leave 'window' out, or give it to 'closedloop'"]
        );
    }

    #[test]
    fn what_is_no_suite_is_refused_with_its_place() {
        for (text, error) in [
            ("[1]", "a.yaml:1:1: this is no file of suites; begin with 'suites:', and below it a list"),
            ("suites: 3", "a.yaml:1:9: 'suites' is no list; begin each suite with '-'"),
            ("tests: []", "a.yaml:1:1: 'tests' is nothing here; a file has 'suites' only"),
            (&GOOD.replace("64,", "63,"), "a.yaml:4:13: frame '63' is unknown; 'frame' is 'imix' or 64 to 9000 bytes"),
            (&GOOD.replace("64,", "imix,"), "a.yaml:4:19: 'imix' is here again; leave one of them out"),
            (
                &GOOD.replace("l2xc", "l2bd\n    scale: [16m, 17m]"),
                "a.yaml:3:18: scale '17m' is unknown; 'scale' is 'base' or a number up to 16777216, such as 20k or 2m",
            ),
            (
                &GOOD.replace("l2xc", "l2"),
                "a.yaml:2:15: function 'l2' is unknown; 'function' is one of l2xc, l2bd, ip4, ip6",
            ),
            (
                &GOOD.replace("cores", "core"),
                "a.yaml:5:5: 'core' is no field of a suite; fields are function, scale, \
                shape, encap, feature, device, driver, buffers, frame, cores, pace, search, load, window, memory-gib",
            ),
            (
                &GOOD.replace("    search: mrr\n", ""),
                "a.yaml:2:5: a suite without 'search'; 'search' is one of ndrpdr, \
                mrr, soak, latency, backtoback, reconf, closedloop, power, endurance, speedup",
            ),
        ] {
            assert_eq!(errors(text), [error], "{text}");
        }
    }

    #[test]
    fn a_case_is_there_once() {
        let twice = read([("a.yaml", GOOD), ("b.yaml", GOOD)]).unwrap_err();
        assert_eq!(
            twice[0].to_string(),
            "b.yaml:2:5: case '64b-1c-1n1l-memif-eth-l2xcbase-mrr' is here again, first of \
            the suite in a.yaml:2; leave it out of one of them"
        );
    }
}
