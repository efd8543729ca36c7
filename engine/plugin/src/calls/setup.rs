//! Functions that `setup` may call: each adds to the draft, which is checked when `setup` has returned.
#![allow(unsafe_code)]

use crate::command::DraftCommand;
use crate::foreign::{self, guarded};
use crate::message::{Event, Message, MessageField};
use crate::node::{Describe, Seeds};
use crate::object::{DraftField, DraftKind};
use crate::setup::{Draft, DraftNode, FAILED_ARC, counted};
use quiver_engine::{ArcSpec, FeatureArcSpec, FeatureSpec, Side, To};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::{FAILED, OK, Setup, Status};
use std::rc::Rc;

const ARCS_MAX: u32 = 256;
const COUNTERS_MAX: u32 = 65_536;

/// Lets `add` put what `spec` points at into the draft. What it refuses is noted there.
///
/// # Safety
/// The pointers are those of a call by a plugin, as the contract has them.
unsafe fn drafted<S>(
    setup: *mut Setup,
    spec: *const S,
    add: impl FnOnce(&mut Draft, &S) -> Result<(), String>,
) -> Status {
    guarded(|| {
        // SAFETY: the daemon gave out the address of a draft, and waits for `setup` to return.
        let draft = unsafe { foreign::exclusive::<Draft, _>(setup) }?;
        // SAFETY: by the caller.
        let spec = unsafe { foreign::shared::<S, _>(spec) };
        let added = spec.ok_or_else(|| "it gave a null pointer where a description is needed".to_owned());
        match added.and_then(|spec| add(draft, spec)) {
            Ok(()) => Some(OK),
            Err(what) => {
                draft.problems.push(what);
                Some(FAILED)
            }
        }
    })
}

impl Draft {
    /// A name that is kept.
    ///
    /// # Safety
    /// The text can be read.
    unsafe fn name(&self, text: abi::Text, what: &str) -> Result<&'static str, String> {
        // SAFETY: by the caller.
        let name = unsafe { foreign::text(text) };
        let fits = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        match fits {
            true => Ok(self.names.keep(&name)),
            false => Err(format!("'{name}' is no name for {what}; use up to 64 letters, digits and hyphens")),
        }
    }
    /// A text that is kept.
    ///
    /// # Safety
    /// As [`Draft::name`].
    unsafe fn kept(&self, text: abi::Text) -> &'static str {
        // SAFETY: by the caller.
        self.names.keep(&unsafe { foreign::text(text) })
    }
    /// Names that are kept for good, as a list.
    ///
    /// # Safety
    /// As [`foreign::slice`] and [`Draft::name`].
    unsafe fn kept_names(&self, names: *const abi::Text, count: u32) -> Result<&'static [&'static str], String> {
        // SAFETY: by the caller.
        let names = unsafe { foreign::slice(names, count as usize) };
        // SAFETY: by the caller.
        let names = names.iter().map(|name| unsafe { self.name(*name, "a feature") });
        names.collect::<Result<Vec<_>, _>>().map(|names| &*names.leak())
    }
    /// # Safety
    /// As [`Draft::name`].
    unsafe fn arc(&self, arc: &abi::Arc) -> Result<ArcSpec, String> {
        // SAFETY: by the caller.
        let name = unsafe { self.name(arc.name, "an arc") }?;
        // SAFETY: by the caller.
        let to = || unsafe { self.name(arc.to, "what an arc leads to") };
        let to = match arc.kind {
            abi::ARC_NODE => To::Node(to()?),
            abi::ARC_DROP => To::Drop,
            abi::ARC_DONE => To::Done,
            abi::ARC_PUNT => To::Punt,
            abi::ARC_FEATURES => To::Features(to()?),
            abi::ARC_OUT => To::Out,
            abi::ARC_NEXT_FEATURE => To::NextFeature,
            other => return Err(format!("arc `{name}` is of kind {other}, which does not exist")),
        };
        Ok(ArcSpec { name, to })
    }
}

pub(super) unsafe extern "C" fn add_node(setup: *mut Setup, spec: *const abi::Node, node: *mut u32) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Node| {
        // SAFETY: the plugin's texts and arcs, for the time of this call.
        let (name, arcs) =
            unsafe { (draft.name(spec.name, "a node")?, foreign::slice(spec.arcs, spec.arc_count as usize)) };
        if spec.arc_count > ARCS_MAX || arcs.len() != spec.arc_count as usize {
            return Err(format!("node `{name}` has {} arcs; at most {ARCS_MAX}", spec.arc_count));
        }
        // SAFETY: as above.
        let mut arcs = arcs.iter().map(|arc| unsafe { draft.arc(arc) }).collect::<Result<Vec<_>, _>>()?;
        arcs.push(FAILED_ARC);
        let process = spec.process.ok_or_else(|| format!("node `{name}` has no `process`"))?;
        let of = spec.stands_for;
        // SAFETY: as above.
        let stands_for = (of.length > 0).then(|| unsafe { draft.name(of, "a node") }).transpose()?;
        let seeds = Seeds { user: spec.user, make: spec.make, free: spec.free, published: Rc::default() };
        let describe = spec.describe.map(|describe| Describe { user: spec.user, describe });
        // SAFETY: where the plugin wants the number.
        if let Some(node) = unsafe { foreign::exclusive::<u32, _>(node) } {
            *node = draft.nodes.len() as u32;
        }
        draft.nodes.push(DraftNode { name, arcs, stands_for, process, seeds, describe });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_feature_arc(setup: *mut Setup, spec: *const abi::FeatureArc) -> Status {
    let add = |draft: &mut Draft, spec: &abi::FeatureArc| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (name, end) = unsafe { (draft.name(spec.name, "a feature arc")?, draft.name(spec.end, "a node")?) };
        let side = match spec.side {
            abi::SIDE_RX => Side::Rx,
            abi::SIDE_TX => Side::Tx,
            other => return Err(format!("feature arc `{name}` has side {other}, which does not exist")),
        };
        draft.feature_arcs.push(FeatureArcSpec { name, end, side });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_feature(setup: *mut Setup, spec: *const abi::Feature) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Feature| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (arc, node) = unsafe { (draft.name(spec.arc, "a feature arc")?, draft.name(spec.node, "a node")?) };
        // SAFETY: as above.
        let before = unsafe { draft.kept_names(spec.before, spec.before_count) }?;
        // SAFETY: as above.
        let after = unsafe { draft.kept_names(spec.after, spec.after_count) }?;
        draft.features.push(FeatureSpec { arc, node, phase: None, before, after });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn metadata_key(setup: *mut Setup, name: abi::Text, key: *mut u32) -> Status {
    let find = |draft: &mut Draft, name: &abi::Text| {
        // SAFETY: the plugin's text, for the time of this call.
        let name = unsafe { draft.name(*name, "metadata")? };
        let found = draft.metadata.shared(name).map_err(|error| error.to_string())?;
        // SAFETY: where the plugin wants the number.
        if let Some(key) = unsafe { foreign::exclusive::<u32, _>(key) } {
            *key = found.number();
        }
        Ok(())
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { drafted(setup, &name, find) }
}

pub(super) unsafe extern "C" fn add_counters(
    setup: *mut Setup,
    spec: *const abi::Counters,
    counters: *mut u32,
) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Counters| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (name, help) = unsafe { (draft.name(spec.name, "counters")?, foreign::text(spec.help)) };
        if spec.length == 0 || spec.length > COUNTERS_MAX {
            return Err(format!("counters `{name}` are {}; from 1 to {COUNTERS_MAX} fit", spec.length));
        }
        // SAFETY: where the plugin wants the number.
        if let Some(counters) = unsafe { foreign::exclusive::<u32, _>(counters) } {
            *counters = draft.counters.len() as u32;
        }
        let made = counted(name.to_owned(), help, spec.length, draft.workers);
        draft.counters.push(made);
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_kind(setup: *mut Setup, spec: *const abi::Kind) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Kind| {
        // SAFETY: the plugin's texts and fields, for the time of this call.
        let (name, help) = unsafe { (draft.name(spec.name, "config objects")?, draft.kept(spec.help)) };
        // SAFETY: as above.
        let fields = unsafe { foreign::slice(spec.fields, spec.field_count as usize) };
        let field = |field: &abi::Field| {
            // SAFETY: as above.
            let (name, doc) = unsafe { (draft.name(field.name, "a field")?, draft.kept(field.help)) };
            let word = field.default_word;
            // SAFETY: as above.
            let (kind, default) = unsafe { (foreign::text(field.kind), foreign::text(word)) };
            let default = (!word.data.is_null()).then_some(default);
            Ok(DraftField { name, doc, kind, default, flags: field.flags })
        };
        let fields = fields.iter().map(field).collect::<Result<Vec<_>, String>>()?;
        let apply = spec.apply.ok_or_else(|| format!("config objects `{name}` have no `apply`"))?;
        draft.kinds.push(DraftKind { name, doc: help, fields, user: spec.user, apply, check: spec.check });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_command(setup: *mut Setup, spec: *const abi::Command) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Command| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (grammar, help) = unsafe { (draft.kept(spec.grammar), draft.kept(spec.help)) };
        let run = spec.run.ok_or_else(|| format!("the command '{grammar}' has no `run`"))?;
        draft.commands.push(DraftCommand { grammar, help, arguments: vec![], user: spec.user, run });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_message(setup: *mut Setup, spec: *const abi::Message) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Message| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (name, help) = unsafe { (foreign::text(spec.name), foreign::text(spec.help)) };
        // SAFETY: as above.
        let (details, event) = unsafe { (foreign::text(spec.details), foreign::text(spec.event)) };
        let [fields, reply, details_fields] = [
            (spec.fields, spec.field_count),
            (spec.reply_fields, spec.reply_field_count),
            (spec.details_fields, spec.details_field_count),
        ]
        // SAFETY: the plugin's fields, for the time of this call.
        .map(|(fields, count)| unsafe { message_fields(fields, count) });
        let answer = spec.answer.ok_or_else(|| format!("the message `{name}` has no `answer`"))?;
        let user = spec.user;
        let message = Message { name, help, fields, reply, details, details_fields, event, plugin: 0, user, answer };
        draft.messages.push(message);
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

pub(super) unsafe extern "C" fn add_event(setup: *mut Setup, spec: *const abi::Event, event: *mut u32) -> Status {
    let add = |draft: &mut Draft, spec: &abi::Event| {
        // SAFETY: the plugin's texts, for the time of this call.
        let (name, help) = unsafe { (foreign::text(spec.name), foreign::text(spec.help)) };
        // SAFETY: the plugin's fields, for the time of this call.
        let fields = unsafe { message_fields(spec.fields, spec.field_count) };
        // SAFETY: where the plugin wants the number.
        if let Some(event) = unsafe { foreign::exclusive::<u32, _>(event) } {
            *event = draft.events.len() as u32;
        }
        draft.events.push(Event { name, help, fields });
        Ok(())
    };
    // SAFETY: the plugin's pointers, for the time of this call.
    unsafe { drafted(setup, spec, add) }
}

/// # Safety
/// As [`foreign::slice`], and the fields' texts as [`foreign::text`].
unsafe fn message_fields(fields: *const abi::MessageField, count: u32) -> Vec<MessageField> {
    let field = |field: &abi::MessageField| {
        // SAFETY: by the caller.
        let [name, kind, count] = [field.name, field.kind, field.count].map(|text| unsafe { foreign::text(text) });
        MessageField { name, kind, length: field.length, count }
    };
    // SAFETY: by the caller.
    unsafe { foreign::slice(fields, count as usize) }.iter().map(field).collect()
}

pub(super) unsafe extern "C" fn refuse_setup(setup: *mut Setup, what: abi::Text) {
    guarded(|| {
        // SAFETY: as in `drafted`, and the plugin's text.
        let (draft, what) = unsafe { (foreign::exclusive::<Draft, _>(setup)?, foreign::text(what)) };
        draft.problems.push(what);
        Some(OK)
    });
}
