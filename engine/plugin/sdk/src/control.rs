//! The control side, in calls that run there.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::handles::{Counters, Event, NodeHandle};
use crate::node::Node;
use crate::refusal::Refusal;
use crate::value::Cell;
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;

/// The control side.
pub struct Control<'c> {
    pub(crate) host: &'static abi::Host,
    pub(crate) control: *mut abi::Control,
    pub(crate) answer: *mut abi::Answer,
    pub(crate) call: PhantomData<&'c mut ()>,
}

impl Control<'_> {
    fn done(status: abi::Status, what: impl FnOnce() -> String) -> Result<(), Refusal> {
        if status == abi::OK { Ok(()) } else { Err(Refusal::new(what())) }
    }
    /// Enables or disables a feature of a feature arc on an interface.
    pub fn enable(&self, arc: &str, node: &str, interface: u32, on: bool) -> Result<(), Refusal> {
        let (arc_text, node_text) = (abi::Text::new(arc), abi::Text::new(node));
        // SAFETY: the daemon's function and handle, within its call; texts outlive it.
        let status = unsafe { (self.host.enable)(self.control, arc_text, node_text, interface, on) };
        Self::done(status, || format!("'{node}' is no feature of '{arc}'"))
    }
    /// Lets a node stand for the one that it was added for, or takes it away from there.
    pub fn stand_in<N: Node>(&self, node: NodeHandle<N>, on: bool) -> Result<(), Refusal> {
        // SAFETY: as in `enable`.
        let status = unsafe { (self.host.stand_in)(self.control, node.number, on) };
        Self::done(status, || "the node stands for none, or has failed".to_owned())
    }
    /// Lets an arc of any node lead to another node, or, without one, where it was declared to lead.
    pub fn rewire(&self, node: &str, arc: &str, to: Option<&str>) -> Result<(), Refusal> {
        let texts = [node, arc, to.unwrap_or_default()].map(abi::Text::new);
        // SAFETY: as in `enable`.
        let status = unsafe { (self.host.rewire)(self.control, texts[0], texts[1], texts[2]) };
        Self::done(status, || format!("'{node}' has no arc '{arc}', or there is no node '{}'", to.unwrap_or_default()))
    }
    /// Makes a value known to all instances of a node; the old one is dropped when no worker reads it any more.
    pub fn publish<N: Node>(&self, node: NodeHandle<N>, value: N::Published) -> Result<(), Refusal> {
        unsafe extern "C" fn free<P>(value: *mut c_void) {
            // SAFETY: what `publish` made, given back once.
            let value = unsafe { Box::from_raw(value.cast::<P>()) };
            // A panic while it is dropped must not cross.
            let _ = caught(|| drop(value));
        }
        let value = Box::into_raw(Box::new(value)).cast::<c_void>();
        // SAFETY: as in `enable`; the daemon gives the value back by `free`, also if the call fails.
        let status = unsafe { (self.host.publish)(self.control, node.number, value, Some(free::<N::Published>)) };
        Self::done(status, || "there is no such node".to_owned())
    }
    /// Packets and bytes of a counter, over all workers.
    pub fn counter(&self, counters: Counters, index: u32) -> Option<(u64, u64)> {
        let mut count = abi::Count::default();
        // SAFETY: as in `enable`.
        let status = unsafe { (self.host.read_counter)(self.control, counters.number, index, &mut count) };
        (status == abi::OK).then_some((count.packets, count.bytes))
    }
    /// The number of the interface of this name.
    pub fn interface(&self, name: &str) -> Option<u32> {
        let mut number = 0;
        // SAFETY: as in `enable`.
        let status = unsafe { (self.host.interface)(self.control, abi::Text::new(name), &mut number) };
        (status == abi::OK).then_some(number)
    }
    /// Makes a config object run: changes these fields of the one with their key, or creates it.
    pub fn put(&self, kind: &str, settings: &[(&str, Cell)]) -> Result<(), Refusal> {
        self.configure(self.host.put, kind, settings)
    }
    /// Deletes the config object with this key.
    pub fn remove(&self, kind: &str, key: &[(&str, Cell)]) -> Result<(), Refusal> {
        self.configure(self.host.remove, kind, key)
    }
    fn configure(
        &self,
        change: unsafe extern "C" fn(
            *mut abi::Control,
            abi::Text,
            *const abi::Setting,
            u32,
            *mut abi::Answer,
        ) -> abi::Status,
        kind: &str,
        settings: &[(&str, Cell)],
    ) -> Result<(), Refusal> {
        let crossing: Vec<_> = settings
            .iter()
            .map(|(name, value)| abi::Setting { name: abi::Text::new(name), value: value.crossing() })
            .collect();
        let (first, count) = (crossing.as_ptr(), crossing.len() as u32);
        // SAFETY: as in `enable`.
        let status = unsafe { change(self.control, abi::Text::new(kind), first, count, self.answer) };
        match status {
            abi::OK => Ok(()),
            _ => Err(Refusal { told: true, ..Refusal::default() }),
        }
    }
    /// Tells an event, with these bytes of its fields, to all clients that asked for it.
    pub fn tell(&self, event: Event, fields: &[u8]) -> Result<(), Refusal> {
        // SAFETY: as in `enable`; the bytes outlive the call.
        let status = unsafe { (self.host.tell)(self.control, event.number, fields.as_ptr(), fields.len()) };
        Self::done(status, || "there is no such event".to_owned())
    }
    /// Writes to the daemon's log.
    pub fn log(&self, text: &str) {
        // SAFETY: as in `enable`.
        unsafe { (self.host.log)(abi::LOG_INFO, abi::Text::new(text)) }
    }
    /// Ends a call: what was refused goes into the answer.
    pub(crate) fn end(&self, result: Result<Result<(), Refusal>, String>) -> abi::Status {
        end(self.host, self.answer, result)
    }
}

/// Ends a call of the daemon: what was refused, or a panic, goes into its answer.
pub(crate) fn end(
    host: &abi::Host,
    answer: *mut abi::Answer,
    result: Result<Result<(), Refusal>, String>,
) -> abi::Status {
    let refusal = match result {
        Ok(Ok(())) => return abi::OK,
        Ok(Err(refusal)) => refusal,
        Err(said) => Refusal::new(format!("the plugin panicked: {said}")),
    };
    if !refusal.told {
        let [field, what, remedy] = [&refusal.field, &refusal.what, &refusal.remedy].map(|text| abi::Text::new(text));
        // SAFETY: the daemon's function and handle, within its call.
        unsafe { (host.refuse)(answer, field, what, remedy) }
    }
    abi::FAILED
}
