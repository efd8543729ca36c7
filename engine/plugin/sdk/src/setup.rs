//! Registrations of a plugin.
#![allow(unsafe_code)]

use crate::arcs::Arc;
use crate::command::Command;
use crate::configuration::Kind;
use crate::error::SetupError;
use crate::handles::{Counters, Event, MetadataKey, NodeHandle};
use crate::message::{self, Message, MessageField};
use crate::node::{self, Node};
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;

/// Collects what a plugin brings; the daemon takes it over when `register` has returned, as a whole or not at all.
pub struct Setup<'s> {
    host: &'static abi::Host,
    setup: *mut abi::Setup,
    call: PhantomData<&'s mut ()>,
}

/// A node that a plugin brings.
pub struct NodeSpec<N: Node> {
    name: String,
    arcs: Vec<abi::Arc>,
    stands_for: String,
    make: Box<dyn Fn(usize) -> N>,
}

impl<N: Node> NodeSpec<N> {
    /// A node of this name and these arcs; `make` makes its instance for each worker.
    pub fn new(name: &str, arcs: &[Arc], make: impl Fn(usize) -> N + 'static) -> NodeSpec<N> {
        let arcs = arcs.iter().map(|arc| arc.crossing()).collect();
        NodeSpec { name: name.to_owned(), arcs, stands_for: String::new(), make: Box::new(make) }
    }
    /// Lets it stand for another node, once [`Control::stand_in`](crate::Control::stand_in) says so: what leads there leads
    /// here instead, but for this node's own arcs.
    #[must_use]
    pub fn stands_for(mut self, node: &str) -> NodeSpec<N> {
        node.clone_into(&mut self.stands_for);
        self
    }
}

/// The packet's interface that decides which features of an arc the packet meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The one that received it.
    Rx,
    /// The one that is to send it.
    Tx,
}

impl Setup<'_> {
    pub(crate) fn new(host: &'static abi::Host, setup: *mut abi::Setup) -> Self {
        Setup { host, setup, call: PhantomData }
    }
    pub(crate) fn refuse(&mut self, what: &str) {
        // SAFETY: the daemon's function and handle, within its call.
        unsafe { (self.host.refuse_setup)(self.setup, abi::Text::new(what)) }
    }
    fn accepted(status: abi::Status, what: &str) -> Result<(), SetupError> {
        // The daemon has noted why, and its reason goes before this one.
        if status == abi::OK { Ok(()) } else { Err(SetupError(format!("the daemon refused {what}"))) }
    }
    /// Adds a node.
    pub fn node<N: Node>(&mut self, spec: NodeSpec<N>) -> Result<NodeHandle<N>, SetupError> {
        // The daemon calls it for as long as the process lives.
        let maker = Box::into_raw(Box::new(node::Maker { host: self.host, make: spec.make }));
        let crossing = abi::Node {
            name: abi::Text::new(&spec.name),
            arcs: spec.arcs.as_ptr(),
            arc_count: spec.arcs.len() as u32,
            stands_for: abi::Text::new(&spec.stands_for),
            user: maker.cast::<c_void>(),
            make: Some(node::make::<N>),
            process: Some(node::process::<N>),
            free: Some(node::free::<N>),
            describe: Some(node::describe::<N>),
        };
        let mut number = 0;
        // SAFETY: the daemon's function and handle, within its call; what is given outlives it.
        let status = unsafe { (self.host.add_node)(self.setup, &crossing, &mut number) };
        Self::accepted(status, &spec.name)?;
        Ok(NodeHandle { number, kind: PhantomData })
    }
    /// Adds a feature arc that ends at a node.
    pub fn feature_arc(&mut self, name: &str, end: &str, side: Side) -> Result<(), SetupError> {
        let side = if side == Side::Rx { abi::SIDE_RX } else { abi::SIDE_TX };
        let crossing = abi::FeatureArc { name: abi::Text::new(name), end: abi::Text::new(end), side };
        // SAFETY: as in `node`.
        Self::accepted(unsafe { (self.host.add_feature_arc)(self.setup, &crossing) }, name)
    }
    /// Puts a node on a feature arc, before and after others; the node at the arc's end may be named in `before`, too.
    pub fn feature(&mut self, arc: &str, node: &str, before: &[&str], after: &[&str]) -> Result<(), SetupError> {
        let [before, after] =
            [before, after].map(|names| names.iter().map(|name| abi::Text::new(name)).collect::<Vec<_>>());
        let crossing = abi::Feature {
            arc: abi::Text::new(arc),
            node: abi::Text::new(node),
            before: before.as_ptr(),
            before_count: before.len() as u32,
            after: after.as_ptr(),
            after_count: after.len() as u32,
        };
        // SAFETY: as in `node`.
        Self::accepted(unsafe { (self.host.add_feature)(self.setup, &crossing) }, node)
    }
    /// Adds a vector of counters, each of packets and bytes.
    pub fn counters(&mut self, name: &str, help: &str, length: u32) -> Result<Counters, SetupError> {
        let crossing = abi::Counters { name: abi::Text::new(name), help: abi::Text::new(help), length };
        let mut number = 0;
        // SAFETY: as in `node`.
        Self::accepted(unsafe { (self.host.add_counters)(self.setup, &crossing, &mut number) }, name)?;
        Ok(Counters { number, length })
    }
    /// The key by which a value of this name is kept with packets: the plugin's own, or that of a room of the daemon or of another plugin.
    pub fn metadata_key(&mut self, name: &str) -> Result<MetadataKey, SetupError> {
        let mut number = 0;
        // SAFETY: as in `node`.
        Self::accepted(unsafe { (self.host.metadata_key)(self.setup, abi::Text::new(name), &mut number) }, name)?;
        Ok(MetadataKey { number })
    }
    /// Adds a kind of config objects.
    pub fn kind(&mut self, kind: Kind) -> Result<(), SetupError> {
        let (host, setup) = (self.host, self.setup);
        // SAFETY: as in `node`.
        kind.cross(host, |spec, name| Self::accepted(unsafe { (host.add_kind)(setup, spec) }, name))
    }
    /// Adds a command.
    pub fn command(&mut self, command: Command) -> Result<(), SetupError> {
        let (host, setup) = (self.host, self.setup);
        // SAFETY: as in `node`.
        command.cross(host, |spec, name| Self::accepted(unsafe { (host.add_command)(setup, spec) }, name))
    }
    /// Adds an event of VPP's binary API: its name, what has happened, and its fields behind `client_index` and `pid`. Clients
    /// ask for it by a [`Message`] that names it.
    pub fn event(
        &mut self,
        name: &str,
        help: &str,
        fields: impl IntoIterator<Item = MessageField>,
    ) -> Result<Event, SetupError> {
        let fields: Vec<_> = fields.into_iter().collect();
        let fields = message::crossing(&fields);
        let (name_text, help) = (abi::Text::new(name), abi::Text::new(help));
        let spec = abi::Event { name: name_text, help, fields: fields.as_ptr(), field_count: fields.len() as u32 };
        let mut number = 0;
        // SAFETY: as in `node`.
        Self::accepted(unsafe { (self.host.add_event)(self.setup, &spec, &mut number) }, name)?;
        Ok(Event { number })
    }
    /// Adds a message of VPP's binary API.
    pub fn message(&mut self, message: Message) -> Result<(), SetupError> {
        let (host, setup) = (self.host, self.setup);
        // SAFETY: as in `node`.
        message.cross(host, |spec, name| Self::accepted(unsafe { (host.add_message)(setup, spec) }, name))
    }
}
