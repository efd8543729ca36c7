//! Testbeds in files: read with the place of everything.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quiver_control::config::{Data, Entry, Malformed, Node, Position, read_yaml};
use quiver_control::serde_json::Value;

use crate::reach::Reach;
use crate::testbed::{Core, Host, HostId, Link, Place, Port, PortKind, PortRef, Testbed};

/// An error in a testbed's file, with its place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {what}; {remedy}", at.line, at.column)]
pub struct TestbedError {
    /// The file, as it was named.
    pub file: String,
    /// The place in it.
    pub at: Position,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// Reads a testbed; `file` is what errors call the text.
///
/// # Errors
/// All that is wrong with it, in the order of the file.
pub fn read(file: &str, text: &str) -> Result<Testbed, Vec<TestbedError>> {
    let mut reader = Reader { file, errors: Vec::new() };
    let (root, malformed) = read_yaml(text);
    for Malformed { at, what, remedy } in malformed {
        reader.refuse(at, what, remedy);
    }
    if root.is_none() && reader.errors.is_empty() {
        reader.refuse(Position { line: 1, column: 1 }, "there is nothing here", "name hosts, a generator and devices");
    }
    let testbed = root.and_then(|root| reader.testbed(&root));
    reader.errors.sort_by_key(|error| error.at);
    match testbed {
        Some(testbed) if reader.errors.is_empty() => Ok(testbed),
        _ => Err(reader.errors),
    }
}

struct Reader<'file> {
    file: &'file str,
    errors: Vec<TestbedError>,
}

impl Reader<'_> {
    fn refuse(&mut self, at: Position, what: impl Into<String>, remedy: impl Into<String>) {
        self.errors.push(TestbedError { file: self.file.to_owned(), at, what: what.into(), remedy: remedy.into() });
    }

    /// Nothing, and why.
    fn none<T>(&mut self, at: Position, what: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.refuse(at, what, remedy);
        None
    }

    fn testbed(&mut self, root: &Node) -> Option<Testbed> {
        let entries = self.mapping(root, "a testbed", &["hosts", "generator", "devices", "links"])?;
        let hosts = self.required(root.at, entries, "hosts", "a name and fields for each host")?;
        let hosts: Vec<Host> = self.entries(hosts, "'hosts'")?.iter().filter_map(|entry| self.host(entry)).collect();
        let generator = self.required(root.at, entries, "generator", "a host and cores")?;
        let generator = self.place(generator, &hosts);
        let devices =
            self.required(root.at, entries, "devices", "a list of a host and cores, for one device or two")?;
        let at = devices.at;
        let devices = self.list(devices, "'devices'")?;
        let places: Option<Vec<Place>> = devices.iter().map(|device| self.place(device, &hosts)).collect();
        let (generator, places) = (generator?, places?);
        if places.is_empty() || places.len() > 2 {
            return self.none(at, format!("{} devices", places.len()), "give one device, or two on hosts of their own");
        }
        for (place, node) in places.iter().zip(devices) {
            if place.host == generator.host && places.len() == 2 {
                self.refuse(node.at, "the first and last host of three is the generator's", "give it another host");
            }
            let shared = place.cores.iter().find(|core| place.host == generator.host && generator.cores.contains(core));
            if let Some(core) = shared {
                self.refuse(node.at, format!("core {core} is the generator's"), "give the device other cores");
            }
        }
        if let [first, second] = &places[..]
            && first.host == second.host
        {
            self.refuse(at, "both devices are on one host", "give each device a host of its own");
        }
        let testbed = Testbed { hosts, generator, devices: places, links: Vec::new() };
        let links = self.links(root.at, entries, &testbed)?;
        Some(Testbed { links, ..testbed })
    }

    fn host(&mut self, entry: &Entry) -> Option<Host> {
        let entries =
            self.mapping(&entry.value, "a host", &["ssh", "ssh-config", "memory-gib", "programs", "ports"])?;
        let mut host = Host {
            name: entry.name.clone(),
            reach: Reach::Here,
            memory_gib: None,
            programs: BTreeMap::new(),
            ports: Vec::new(),
        };
        let mut config = None;
        for Entry { name, at, value } in entries {
            match name.as_str() {
                "ssh" => host.reach = self.reach(value)?,
                "ssh-config" => config = Some((*at, self.path(value)?)),
                "memory-gib" => {
                    let memory = word(value).and_then(|word| word.parse().ok()).filter(|memory| *memory > 0);
                    let remedy = "give a number from 1 to 65535";
                    host.memory_gib = memory.or_else(|| self.none(value.at, "this is no amount of memory", remedy));
                }
                "programs" => {
                    for Entry { name, value, .. } in self.entries(value, "'programs'")? {
                        host.programs.extend(self.path(value).map(|path| (name.clone(), path)));
                    }
                }
                _ => {
                    let ports = self.entries(value, "'ports'")?;
                    host.ports = ports.iter().filter_map(|port| self.port(port)).collect();
                }
            }
        }
        match (&mut host.reach, config) {
            (Reach::Ssh { config, .. }, Some((_, path))) => *config = Some(path),
            (Reach::Here, Some((at, _))) => self.refuse(at, "this host is not reached by ssh", "give it 'ssh', too"),
            _ => {}
        }
        Some(host)
    }

    fn path(&mut self, node: &Node) -> Option<PathBuf> {
        let path = word(node).filter(|word| !word.is_empty()).map(PathBuf::from);
        path.or_else(|| self.none(node.at, "this is no path", "give the path of a file"))
    }

    fn reach(&mut self, node: &Node) -> Option<Reach> {
        let remedy = "give user@host, or user@host:port";
        let text = word(node).unwrap_or_default();
        // An address of IPv6 has colons of its own, and is in brackets where a port follows.
        let (target, port) = match text.rsplit_once(':') {
            Some((target, port)) if !target.contains(':') || target.ends_with(']') => (target, Some(port)),
            _ => (text.as_str(), None),
        };
        let port = match port.map(str::parse) {
            Some(Ok(port)) if port > 0 => Some(port),
            None => None,
            _ => return self.none(node.at, format!("'{text}' has no port behind its colon"), remedy),
        };
        let target = target.replace(['[', ']'], "");
        // What begins with a dash would be an option of ssh.
        let is_sound = !target.is_empty() && !target.starts_with('-') && !target.contains(char::is_whitespace);
        match is_sound {
            true => Some(Reach::Ssh { target, port, config: None }),
            false => self.none(node.at, format!("'{text}' is nothing that ssh reaches"), remedy),
        }
    }

    fn port(&mut self, entry: &Entry) -> Option<Port> {
        let remedy = "give {interface: eth1} or {pci: 0000:3b:00.0}";
        let entries = self.mapping(&entry.value, "a port", &["interface", "pci"])?;
        let [Entry { name, value, .. }] = entries else {
            return self.none(entry.value.at, "a port is one thing", remedy);
        };
        let text = word(value).unwrap_or_default();
        let kind = match name.as_str() {
            "interface" if (1..16).contains(&text.len()) && !text.contains(|letter: char| " /:".contains(letter)) => {
                PortKind::Interface(text)
            }
            "pci" if is_pci(&text) => PortKind::Pci(text),
            _ => return self.none(value.at, format!("'{text}' is no {name}"), remedy),
        };
        Some(Port { name: entry.name.clone(), kind })
    }

    fn place(&mut self, node: &Node, hosts: &[Host]) -> Option<Place> {
        let entries = self.mapping(node, "a place", &["host", "cores"])?;
        let host = self.required(node.at, entries, "host", "one of 'hosts'")?;
        let cores = self.required(node.at, entries, "cores", "numbers, such as 1, 2-5 or [1, 3]")?;
        let host = self.host_id(host.at, &word(host).unwrap_or_default(), hosts);
        let mut numbers = Vec::new();
        let words: Vec<&Node> = match &cores.data {
            Data::List(items) => items.iter().collect(),
            _ => vec![cores],
        };
        for node in words {
            let text = word(node).unwrap_or_default();
            let (first, last) = text.split_once('-').unwrap_or((&text, &text));
            match (first.parse::<u16>(), last.parse::<u16>()) {
                (Ok(first), Ok(last)) if first <= last && last < 4096 => numbers.extend((first..=last).map(Core)),
                _ => self.refuse(node.at, format!("'{text}' is no core"), "give numbers, such as 1, 2-5 or [1, 3]"),
            }
        }
        let mut seen = numbers.clone();
        seen.sort();
        if let Some(twice) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            return self.none(cores.at, format!("core {} is here twice", twice[0]), "leave it out once");
        }
        match numbers.is_empty() {
            true => self.none(cores.at, "no cores", "give one core or more"),
            false => Some(Place { host: host?, cores: numbers }),
        }
    }

    fn host_id(&mut self, at: Position, name: &str, hosts: &[Host]) -> Option<HostId> {
        let found = hosts.iter().position(|host| host.name == name).map(HostId);
        let known = || hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
        found.or_else(|| self.none(at, format!("host '{name}' is unknown"), format!("hosts are {}", known())))
    }

    /// From the generator through all devices and back.
    fn links(&mut self, at: Position, entries: &[Entry], testbed: &Testbed) -> Option<Vec<Link>> {
        let mut path = vec![testbed.generator.host];
        path.extend(testbed.devices.iter().map(|device| device.host));
        path.push(testbed.generator.host);
        let ways: Vec<String> = path
            .windows(2)
            .map(|way| format!("{} to {}", testbed.host(way[0]).name, testbed.host(way[1]).name))
            .collect();
        let remedy = format!("give one each for {}", ways.join(", "));
        let Some(entry) = entries.iter().find(|entry| entry.name == "links") else {
            return match path.iter().all(|host| *host == path[0]) {
                true => Some(Vec::new()),
                false => self.none(at, "several hosts without links", remedy),
            };
        };
        let nodes = self.list(&entry.value, "'links'")?;
        if nodes.len() != ways.len() {
            return self.none(entry.value.at, format!("{} links", nodes.len()), remedy);
        }
        let mut links: Vec<Link> = Vec::new();
        for (node, way) in nodes.iter().zip(path.windows(2)) {
            let ends = self.list(node, "a link")?;
            let [one, other] = ends[..] else {
                return self.none(node.at, format!("a link of {} ends", ends.len()), "give it two ports, host.port");
            };
            let (one, other) = (self.end(one, testbed)?, self.end(other, testbed)?);
            let link = match (one.host, other.host) {
                hosts if hosts == (way[0], way[1]) => Link { from: one, to: other },
                hosts if hosts == (way[1], way[0]) => Link { from: other, to: one },
                _ => return self.none(node.at, "this link is not the next on the packets' way", remedy),
            };
            let used = |port| links.iter().any(|other| other.from == port || other.to == port);
            if used(link.from) || used(link.to) || link.from == link.to {
                return self.none(node.at, "a port has two links", "give each link ports of its own");
            }
            links.push(link);
        }
        Some(links)
    }

    fn end(&mut self, node: &Node, testbed: &Testbed) -> Option<PortRef> {
        let text = word(node).unwrap_or_default();
        let Some((host, port)) = text.rsplit_once('.') else {
            return self.none(node.at, format!("'{text}' is no port"), "give a host and its port, host.port");
        };
        let host = self.host_id(node.at, host, &testbed.hosts)?;
        let ports = &testbed.host(host).ports;
        let found = ports.iter().position(|own| own.name == port).map(|port| PortRef { host, port });
        let known = || ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
        found.or_else(|| self.none(node.at, format!("port '{text}' is unknown"), format!("its ports are: {}", known())))
    }

    /// The entries of a mapping with these fields, each of which was not refused.
    fn mapping<'node>(&mut self, node: &'node Node, what: &str, fields: &[&str]) -> Option<&'node [Entry]> {
        let entries = self.entries(node, what)?;
        let known = self.errors.len();
        for entry in entries.iter().filter(|entry| !fields.contains(&entry.name.as_str())) {
            let remedy = format!("fields are {}", fields.join(", "));
            self.refuse(entry.at, format!("'{}' is no field of {what}", entry.name), remedy);
        }
        (known == self.errors.len()).then_some(entries)
    }

    fn entries<'node>(&mut self, node: &'node Node, what: &str) -> Option<&'node [Entry]> {
        match &node.data {
            Data::Mapping(entries) => Some(entries),
            _ => self.none(node.at, format!("{what} has names and values"), "write 'name: value'"),
        }
    }

    fn list<'node>(&mut self, node: &'node Node, what: &str) -> Option<Vec<&'node Node>> {
        match &node.data {
            Data::List(items) => Some(items.iter().collect()),
            _ => self.none(node.at, format!("{what} is no list"), "begin each with '-', or write [a, b]"),
        }
    }

    fn required<'node>(
        &mut self,
        at: Position,
        entries: &'node [Entry],
        field: &str,
        expected: &str,
    ) -> Option<&'node Node> {
        let found = entries.iter().find(|entry| entry.name == field).map(|entry| &entry.value);
        found.or_else(|| self.none(at, format!("'{field}' is missing"), format!("'{field}' is {expected}")))
    }
}

/// The text of a value.
fn word(node: &Node) -> Option<String> {
    match &node.data {
        Data::Scalar(Value::String(word)) => Some(word.clone()),
        Data::Scalar(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    }
}

/// `domain:bus:slot.function`, in hexadecimal digits.
fn is_pci(text: &str) -> bool {
    let form = "xxxx:xx:xx.x";
    let is_right = |(want, letter): (char, char)| if want == 'x' { letter.is_ascii_hexdigit() } else { letter == want };
    text.len() == form.len() && form.chars().zip(text.chars()).all(is_right)
}
