//! The registered commands and argument types.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use quiver_wire::{InterfaceAddress, MacAddress, Prefix, V4, V6, VlanId};

use super::command::Command;
use super::grammar::{self, Part};
use super::kind::ArgumentKind;
use crate::object::scalar::Interval;

/// The commands and types of all rooms.
#[derive(Default, Clone)]
pub(super) struct Registered {
    pub commands: Vec<Rc<Entry>>,
    pub kinds: HashMap<&'static str, ArgumentKind>,
    /// The alternatives that rooms have added to grammars, by placeholder, such as `$next-hop`.
    pub parts: HashMap<&'static str, Vec<Added>>,
}

/// An alternative that a room has added to grammars of others.
#[derive(Clone)]
pub(super) struct Added {
    pub grammar: String,
    pub texts: Vec<(String, String)>,
}

/// A registered command.
pub(super) struct Entry {
    pub command: Command,
    pub grammar: Rc<Part>,
    /// The grammar without alternatives of other rooms.
    pub written: String,
}

impl Registered {
    /// A command with the alternatives of other rooms in its grammar.
    pub fn complete(&self, written: &str, mut command: Command) -> Result<Entry, String> {
        command.grammar = written.to_owned();
        for (place, added) in &self.parts {
            let all: Vec<_> = added.iter().map(|added| &*added.grammar).collect();
            if !command.grammar.contains(place) {
                continue;
            }
            command.grammar = command.grammar.replace(place, &all.join(" | "));
            let texts = added.iter().flat_map(|added| &added.texts);
            let new: Vec<_> = texts.filter(|text| !command.texts.contains(text)).cloned().collect();
            command.texts.extend(new);
        }
        // A place for which there is nothing yet.
        while let Some((before, after)) = command.grammar.split_once("| $") {
            let end = after.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(after.len());
            command.grammar = format!("{}{}", before.trim_end(), &after[end..]);
        }
        let grammar = parse(&command.grammar)?;
        Ok(Entry { command, grammar, written: written.to_owned() })
    }

    /// Checks that no command has this grammar yet.
    pub fn check_new(&self, grammar: &str) -> Result<(), String> {
        match self.commands.iter().any(|other| other.command.grammar == grammar) {
            true => Err(format!("the command '{grammar}' was registered twice")),
            false => Ok(()),
        }
    }
}

/// Reads a command's grammar; the error names the command.
pub(super) fn parse(grammar: &str) -> Result<Rc<Part>, String> {
    grammar::parse(grammar).map_err(|error| format!("the grammar of the command '{grammar}': {error}"))
}

/// A registered type, or one of those that are always there.
pub(super) fn kind_of(kinds: &HashMap<&'static str, ArgumentKind>, name: &str) -> Option<ArgumentKind> {
    if let Some(kind) = kinds.get(name) {
        return Some(kind.clone());
    }
    STANDARD.iter().map(|kind| kind()).find(|kind| kind.name == name)
}

/// The types that are always there.
const STANDARD: [fn() -> ArgumentKind; 16] = [
    ArgumentKind::of::<u8>,
    ArgumentKind::of::<u16>,
    ArgumentKind::of::<u32>,
    ArgumentKind::of::<u64>,
    ArgumentKind::of::<bool>,
    ArgumentKind::of::<Interval>,
    ArgumentKind::of::<String>,
    ArgumentKind::of::<Ipv4Addr>,
    ArgumentKind::of::<Ipv6Addr>,
    ArgumentKind::of::<IpAddr>,
    ArgumentKind::of::<MacAddress>,
    ArgumentKind::of::<VlanId>,
    ArgumentKind::of::<Prefix<V4>>,
    ArgumentKind::of::<Prefix<V6>>,
    ArgumentKind::of::<InterfaceAddress<V4>>,
    ArgumentKind::of::<InterfaceAddress<V6>>,
];
