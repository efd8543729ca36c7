//! The draft of a plugin's registrations while its `setup` runs. When `setup` has returned it is taken over as a whole,
//! or not at all.

#![allow(unsafe_code)]

use crate::channels::Channels;
use crate::error::LoadError;
use crate::library::Table;
use crate::message::{Event, Message};
use crate::names::Names;
use crate::node::{Describe, Facts, PluginNode, Process, Seeds};
use crate::plugins::{Counted, Placed, Plugins};
use crate::{command, object};
use quiver_control::Control;
use quiver_control::object::described::DescribedKind;
use quiver_engine::graph::FeatureArcSpec;
use quiver_engine::{
    ArcSpec, Blueprint, Counter, Dataplane, FeatureSpec, GraphError, MetadataKeys, NodeHandle, NodeSpec, To,
};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::Host;
use std::rc::Rc;
use std::sync::Arc;

/// The arc by which the packets of a node leave that has failed: a drop, and its reason.
pub(crate) const FAILED_ARC: ArcSpec = ArcSpec { name: "plugin-failed", to: To::Drop };

/// A node as it was asked for.
pub(crate) struct DraftNode {
    pub name: &'static str,
    /// With [`FAILED_ARC`] as the last one.
    pub arcs: Vec<ArcSpec>,
    pub stands_for: Option<&'static str>,
    pub process: Process,
    pub seeds: Seeds,
    pub describe: Option<Describe>,
}

/// Registrations that were taken over.
pub(crate) struct Taken {
    pub nodes: Vec<Placed>,
    pub counters: Vec<Counted>,
    /// The names of its events.
    pub events: Vec<String>,
}

/// All of it.
pub(crate) struct Draft {
    pub names: Rc<Names>,
    pub nodes: Vec<DraftNode>,
    pub feature_arcs: Vec<FeatureArcSpec>,
    pub features: Vec<FeatureSpec>,
    pub counters: Vec<Counted>,
    /// The keys of what is kept with packets: those that there are, and behind them the plugin's.
    pub metadata: MetadataKeys,
    pub kinds: Vec<object::DraftKind>,
    pub commands: Vec<command::DraftCommand>,
    pub messages: Vec<Message>,
    pub events: Vec<Event>,
    /// Why it cannot be taken over.
    pub problems: Vec<String>,
    /// Workers for which counters are made.
    pub workers: usize,
}

impl Draft {
    pub fn new(names: Rc<Names>, workers: usize, metadata: MetadataKeys) -> Draft {
        Draft {
            names,
            nodes: vec![],
            feature_arcs: vec![],
            features: vec![],
            counters: vec![],
            metadata,
            kinds: vec![],
            commands: vec![],
            messages: vec![],
            events: vec![],
            problems: vec![],
            workers,
        }
    }

    /// Lets the plugin say what it brings, by the daemon's functions.
    pub fn fill(&mut self, table: &Table, host: &'static Host) {
        let setup = std::ptr::from_mut(self).cast::<abi::Setup>();
        // SAFETY: the plugin's function, on the control thread; nobody else uses the draft meanwhile.
        let status = unsafe { (table.setup)(host, setup) };
        if status != abi::OK && self.problems.is_empty() {
            self.problems.push(format!("its `setup` returned status {status}"));
        }
    }

    /// Takes everything over. `plugin` is the number that the plugin will have; its nodes get the channels, and the daemon's
    /// functions.
    pub fn commit(
        self,
        control: &Control,
        plugin: usize,
        table: &Table,
        with: (Channels, &'static Host),
    ) -> Result<Taken, LoadError> {
        let name = table.name.as_str();
        let refused = |what: String| LoadError::Refused { name: name.to_owned(), what };
        if let Some(what) = self.problems.into_iter().next() {
            return Err(refused(what));
        }
        let mut kinds: Vec<(&'static str, DescribedKind)> = vec![];
        for draft in self.kinds {
            let kind = draft.name;
            let of_kind = |error| LoadError::Kind { name: name.to_owned(), kind, error: Box::new(error) };
            let twice = kinds.iter().any(|(other, _)| *other == kind) || control.objects().has_kind(kind);
            let described = draft.describe(control, plugin).map_err(of_kind)?;
            if twice {
                return Err(refused(format!("there is a kind of objects '{kind}' already; rename one of them")));
            }
            kinds.push((kind, described));
        }
        let mut commands: Vec<command::DraftCommand> = vec![];
        for mut draft in self.commands {
            draft.arguments = control.commands().arguments_of(draft.grammar).map_err(refused)?;
            if commands.iter().any(|other| other.grammar == draft.grammar) {
                return Err(refused(format!("the command '{}' was registered twice", draft.grammar)));
            }
            commands.push(draft);
        }
        let (mut messages, messenger) = (self.messages, control.room::<Plugins>().messages);
        messages.iter_mut().for_each(|message| message.plugin = plugin);
        (messenger.check)(control, &messages, &self.events).map_err(refused)?;
        let counters = Rc::new(self.counters);
        let (nodes, arcs, features) = (self.nodes, self.feature_arcs, self.features);
        let shared = counters.clone();
        let placed = control.room_mut::<Dataplane>().extend(|graph| {
            arcs.into_iter().try_for_each(|arc| graph.feature_arc(arc))?;
            let mut placed = vec![];
            for (number, node) in nodes.into_iter().enumerate() {
                placed.push(node.place(graph, plugin, number, &shared, &with)?);
            }
            features.into_iter().try_for_each(|feature| graph.feature(feature))?;
            Ok(placed)
        });
        let placed = placed.map_err(|error| LoadError::Graph { name: name.to_owned(), error })?;
        for name in self.metadata.names() {
            let key = control.room_mut::<Dataplane>().shared_metadata(name);
            key.map_err(|error| refused(error.to_string()))?;
        }
        for (_, kind) in kinds {
            // It was looked for above.
            control.objects().describe(kind).map_err(|error| refused(error.to_string()))?;
        }
        for draft in commands {
            control.commands().try_add(draft.command(plugin)).map_err(refused)?;
        }
        if !messages.is_empty() || !self.events.is_empty() {
            // Clients make names of their languages of it.
            let file = self.names.keep(&name.replace('-', "_"));
            (messenger.add)(control, file, &table.release, messages, &self.events);
        }
        let events = self.events.into_iter().map(|event| event.name).collect();
        Ok(Taken { nodes: placed, counters: counters.to_vec(), events })
    }
}

impl DraftNode {
    fn place(
        self,
        graph: &mut Blueprint,
        plugin: usize,
        number: usize,
        counters: &Rc<Vec<Counted>>,
        (channels, host): &(Channels, &'static Host),
    ) -> Result<Placed, GraphError> {
        let onwards = |arc: &ArcSpec| matches!(arc.to, To::NextFeature | To::Node(_) | To::Features(_));
        let pass = self.arcs.iter().position(onwards).map(|arc| arc as u16);
        let arcs: &'static [ArcSpec] = self.arcs.leak();
        let facts = Arc::new(Facts {
            plugin,
            node: number,
            process: self.process,
            arcs: arcs.len() as u16 - 1,
            pass,
            channels: channels.clone(),
            host,
        });
        let (seeds, counters) = (self.seeds, counters.clone());
        let published = seeds.published.clone();
        let mut spec = NodeSpec::new(self.name, arcs, move |seed| {
            let rows = counters.iter().map(|counted| counted.workers[seed.worker].clone());
            PluginNode::new(facts.clone(), &seeds, seed.worker, rows.collect())
        })
        .foreign();
        if let Some(describe) = self.describe {
            spec = spec.describe(move |record| describe.say(record));
        }
        let handle: NodeHandle<PluginNode> = graph.node_of(spec)?;
        if let Some(of) = self.stands_for {
            graph.stand_in(graph.find(of)?, handle.id)?;
        }
        Ok(Placed { handle, name: self.name, stands_for: self.stands_for, pass, published, failed: None })
    }
}

/// Counters of a plugin for `workers` workers.
pub(crate) fn counted(name: String, help: String, length: u32, workers: usize) -> Counted {
    let row = || (0..length).map(|_| [Counter::default(), Counter::default()]).collect::<Vec<_>>();
    Counted { name, help, workers: (0..workers).map(|_| Arc::from(row())).collect() }
}

impl Plugins {
    pub(crate) fn draft(&self, control: &Control) -> Draft {
        let dataplane = control.room::<Dataplane>();
        Draft::new(self.names.clone(), dataplane.settings().workers, dataplane.metadata_keys().clone())
    }
}
