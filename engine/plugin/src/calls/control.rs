//! Functions that a plugin may call on the control thread, besides answering.
#![allow(unsafe_code)]

use super::answer::{AnswerData, Refusal};
use super::side::Side;
use crate::foreign::{self, guarded};
use crate::interfaces::InterfaceNames;
use crate::node::{Free, PluginNode, Published};
use crate::plugins::{self, Placed, Plugins};
use crate::value;
use quiver_control::{Control, ObjectError};
use quiver_engine::{Dataplane, GraphError, Worker};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::{Answer, FAILED, OK, Status, Text};
use serde_json::{Map, Value};
use std::ffi::c_void;
use std::sync::Arc;

impl Side {
    fn placed<T>(&self, node: u32, read: impl FnOnce(&Placed) -> T) -> Option<T> {
        let plugins = self.control.room::<Plugins>();
        plugins.loaded.get(self.plugin)?.nodes.get(node as usize).map(read)
    }

    /// Says in the log what a plugin did wrong.
    fn told(&self, result: Result<(), GraphError>) -> Status {
        match result {
            Ok(()) => OK,
            Err(error) => {
                let plugins = self.control.room::<Plugins>();
                let name = plugins.loaded.get(self.plugin).map_or("", |plugin| &plugin.name);
                tracing::error!("plugin `{name}`: {error}");
                FAILED
            }
        }
    }
}

/// # Safety
/// `control` is what a plugin was given, within the call that gave it.
unsafe fn side<'a>(control: *mut abi::Control) -> Option<&'a Side> {
    // SAFETY: by the caller; such handles are addresses of a `Side`.
    unsafe { foreign::shared::<Side, _>(control) }
}

pub(super) unsafe extern "C" fn enable(
    control: *mut abi::Control,
    arc: Text,
    node: Text,
    interface: u32,
    on: bool,
) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle and texts, for the time of this call.
        let (side, arc, node) = unsafe { (side(control)?, foreign::text(arc), foreign::text(node)) };
        let enabled = side.control.room_mut::<Dataplane>().enable(&arc, &node, interface, on);
        Some(side.told(enabled))
    })
}

pub(super) unsafe extern "C" fn stand_in(control: *mut abi::Control, node: u32, on: bool) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle.
        let side = unsafe { side(control) }?;
        let usable = |placed: &Placed| placed.stands_for.is_some() && placed.failed.is_none();
        let id = side.placed(node, |placed| usable(placed).then_some(placed.handle.id))??;
        let mut dataplane = side.control.room_mut::<Dataplane>();
        match on {
            true => dataplane.open(id),
            false => dataplane.bypass(id, None),
        }
        Some(OK)
    })
}

pub(super) unsafe extern "C" fn rewire(control: *mut abi::Control, node: Text, arc: Text, to: Text) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle and texts, for the time of this call.
        let (side, node, arc, to) =
            unsafe { (side(control)?, foreign::text(node), foreign::text(arc), foreign::text(to)) };
        let mut dataplane = side.control.room_mut::<Dataplane>();
        let found = (|| {
            let graph = dataplane.graph();
            let from = graph.find(&node)?;
            let unknown = || GraphError::Unknown { what: "arc", name: format!("{node} {arc}") };
            let arc = graph.arcs(from).iter().position(|spec| spec.name == arc).ok_or_else(unknown)?;
            let to = if to.is_empty() { None } else { Some(graph.find(&to)?) };
            Ok((from, arc as u16, to))
        })();
        let led = found.map(|(from, arc, to)| dataplane.rewire(from, arc, to));
        drop(dataplane);
        Some(side.told(led))
    })
}

pub(super) unsafe extern "C" fn publish(
    control: *mut abi::Control,
    node: u32,
    value: *mut c_void,
    free: Option<Free>,
) -> Status {
    let published = Arc::new(Published::new(value, free));
    guarded(|| {
        // SAFETY: the plugin's handle.
        let side = unsafe { side(control) }?;
        let (handle, current) = side.placed(node, |placed| (placed.handle, placed.published.clone()))?;
        let old = current.replace(Some(published.clone()));
        let dataplane = side.control.room::<Dataplane>();
        dataplane.post_all(|_| {
            let published = published.clone();
            // Dropped by control, below: the plugin's `free` is no work for a worker.
            move |worker: &mut Worker| {
                let node = worker.graph().node_mut::<PluginNode>(handle.id);
                drop(node.map(|node| node.publish(published)));
            }
        });
        let settled = dataplane.settled();
        side.control.spawn("publish", async move {
            settled.await;
            drop(old);
        });
        Some(OK)
    })
}

pub(super) unsafe extern "C" fn read_counter(
    control: *mut abi::Control,
    counters: u32,
    index: u32,
    count: *mut abi::Count,
) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle, and where it wants the sum.
        let (side, count) = unsafe { (side(control)?, foreign::exclusive::<abi::Count, _>(count)?) };
        let plugins = side.control.room::<Plugins>();
        let counted = plugins.loaded.get(side.plugin)?.counters.get(counters as usize)?;
        let (packets, bytes) = counted.sum(index as usize)?;
        *count = abi::Count { packets, bytes };
        Some(OK)
    })
}

pub(super) unsafe extern "C" fn interface(control: *mut abi::Control, name: Text, interface: *mut u32) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle and text, and where it wants the number.
        let (side, name, interface) =
            unsafe { (side(control)?, foreign::text(name), foreign::exclusive::<u32, _>(interface)?) };
        let number = side.control.room::<InterfaceNames>().number;
        *interface = number(&side.control, &name)?;
        Some(OK)
    })
}

/// A change of the object whose kind and fields are given.
type Configure = fn(&Control, &str, Map<String, Value>) -> Result<(), ObjectError>;

/// Changes the configuration as `change` says; a refusal goes into the answer.
///
/// # Safety
/// The pointers are those of a call by a plugin, as the contract has them.
unsafe fn configure(
    control: *mut abi::Control,
    kind: Text,
    settings: (*const abi::Setting, u32),
    answer: *mut Answer,
    change: Configure,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller.
        let (side, kind) = unsafe { (side(control)?, foreign::text(kind)) };
        // SAFETY: by the caller.
        let (values, answer) =
            unsafe { (value::settings(settings.0, settings.1), foreign::exclusive::<AnswerData, _>(answer)) };
        let changed = change(&side.control, &kind, values);
        let refusal = changed.err();
        let status = if refusal.is_none() { OK } else { FAILED };
        if let (Some(error), Some(answer)) = (refusal, answer) {
            let (what, remedy) = (ObjectError { remedy: String::new(), ..error.clone() }.to_string(), error.remedy);
            answer.refusal = Some(Refusal { field: String::new(), what, remedy });
        }
        Some(status)
    })
}

pub(super) unsafe extern "C" fn put(
    control: *mut abi::Control,
    kind: Text,
    settings: *const abi::Setting,
    setting_count: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { configure(control, kind, (settings, setting_count), answer, Control::put_values) }
}

pub(super) unsafe extern "C" fn remove(
    control: *mut abi::Control,
    kind: Text,
    settings: *const abi::Setting,
    setting_count: u32,
    answer: *mut Answer,
) -> Status {
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { configure(control, kind, (settings, setting_count), answer, Control::delete_values) }
}

pub(super) unsafe extern "C" fn tell(
    control: *mut abi::Control,
    event: u32,
    bytes: *const u8,
    length: usize,
) -> Status {
    guarded(|| {
        // SAFETY: the plugin's handle and bytes, for the time of this call.
        let (side, bytes) = unsafe { (side(control)?, foreign::slice(bytes, length)) };
        plugins::tell(&side.control, side.plugin, event as usize, bytes).then_some(OK)
    })
}

pub(super) unsafe extern "C" fn log(level: u32, text: Text) {
    guarded(|| {
        // SAFETY: the plugin's text.
        let text = unsafe { foreign::text(text) };
        match level {
            abi::LOG_ERROR => tracing::error!("{text}"),
            abi::LOG_WARNING => tracing::warn!("{text}"),
            _ => tracing::info!("{text}"),
        }
        Some(OK)
    });
}
