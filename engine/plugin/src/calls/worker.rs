//! Functions that a node may call while it processes a frame.
#![allow(unsafe_code)]

use crate::channels::Raised;
use crate::foreign::{self, guarded};
use crate::node::Running;
use quiver_engine::{Context, Frame, MetadataKey, Offload};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::{EVENT_BYTES, OK, Slice, Status, Text};

/// Lets `work` have the engine's side of a running call; None if the row is none of the frame's.
///
/// # Safety
/// `context` is what the plugin's `process` was given, within that call, on its worker.
unsafe fn within(
    context: *mut abi::Context,
    row: u32,
    work: impl FnOnce(&mut Running, &mut Context<'_>, &mut Frame) -> Option<Status>,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller; such a context is the first field of a `Running`, which holds the addresses of what the
        // engine lent to the node for this call and does not touch meanwhile.
        let (running, engine, frame) = unsafe {
            let running = foreign::exclusive::<Running, _>(context)?;
            let (engine, frame) = (running.engine, running.frame);
            (running, foreign::exclusive::<Context<'_>, _>(engine)?, foreign::exclusive::<Frame, _>(frame)?)
        };
        let inside = (row as usize) < frame.len();
        inside.then(|| work(running, engine, frame)).flatten()
    })
}

pub(super) unsafe extern "C" fn segment(context: *mut abi::Context, row: u32, part: u32, into: *mut Slice) -> Status {
    let find = |_: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        let bytes = frame.segments(cx.pool, row as usize).nth(part as usize)?;
        // SAFETY: where the plugin wants the slice.
        let into = unsafe { foreign::exclusive::<Slice, _>(into) }?;
        *into = Slice { data: bytes.as_ptr().cast_mut(), length: bytes.len() };
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { within(context, row, find) }
}

pub(super) unsafe extern "C" fn offload(context: *mut abi::Context, row: u32, into: *mut abi::Offload) -> Status {
    let find = |_: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        let found = frame.offload(cx.pool, row as usize)?;
        // SAFETY: where the plugin wants it.
        let into = unsafe { foreign::exclusive::<abi::Offload, _>(into) }?;
        *into = abi::Offload {
            flags: found.flags,
            segmentation: found.segmentation,
            segment_size: found.segment_size,
            checksum_start: found.checksum_start,
            checksum_offset: found.checksum_offset,
        };
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { within(context, row, find) }
}

pub(super) unsafe extern "C" fn set_offload(
    context: *mut abi::Context,
    row: u32,
    offload: *const abi::Offload,
) -> Status {
    let set = |_: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        // SAFETY: what the plugin gives.
        let given = unsafe { foreign::shared::<abi::Offload, _>(offload) }?;
        let offload = Offload {
            flags: given.flags,
            segmentation: given.segmentation,
            segment_size: given.segment_size,
            checksum_start: given.checksum_start,
            checksum_offset: given.checksum_offset,
        };
        frame.set_offload(cx.pool, row as usize, offload);
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { within(context, row, set) }
}

pub(super) unsafe extern "C" fn metadata(context: *mut abi::Context, row: u32, key: u32, into: *mut u64) -> Status {
    let find = |_: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        let found = frame.metadata(cx.pool, row as usize, MetadataKey::foreign(key)?)?;
        // SAFETY: where the plugin wants it.
        *unsafe { foreign::exclusive::<u64, _>(into) }? = found;
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { within(context, row, find) }
}

pub(super) unsafe extern "C" fn set_metadata(context: *mut abi::Context, row: u32, key: u32, value: u64) -> Status {
    let set = |_: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        frame.set_metadata(cx.pool, row as usize, MetadataKey::foreign(key)?, value);
        Some(OK)
    };
    // SAFETY: the plugin's pointer, within its call.
    unsafe { within(context, row, set) }
}

pub(super) unsafe extern "C" fn emit(
    context: *mut abi::Context,
    arc: u16,
    bytes: *const u8,
    length: usize,
    rx: u32,
    tx: u32,
    hop: u32,
) -> Status {
    let send = |running: &mut Running, cx: &mut Context<'_>, _: &mut Frame| {
        // SAFETY: the plugin's bytes.
        let bytes = unsafe { foreign::slice(bytes, length) };
        let mut packet = cx.pool.packet(bytes)?;
        (packet.rx, packet.tx, packet.hop) = (rx, tx, hop);
        packet.set_local();
        (arc < running.arcs).then(|| cx.emit(arc, packet))?;
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call. A frame has at least one row.
    unsafe { within(context, 0, send) }
}

pub(super) unsafe extern "C" fn emit_copy(context: *mut abi::Context, row: u32, arc: u16) -> Status {
    let send = |running: &mut Running, cx: &mut Context<'_>, frame: &mut Frame| {
        let packet = frame.copy(cx.pool, row as usize)?;
        (arc < running.arcs).then(|| cx.emit(arc, packet))?;
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call.
    unsafe { within(context, row, send) }
}

pub(super) unsafe extern "C" fn raise(
    context: *mut abi::Context,
    event: u32,
    bytes: *const u8,
    length: usize,
) -> Status {
    let send = |running: &mut Running, _: &mut Context<'_>, _: &mut Frame| {
        // SAFETY: the plugin's bytes.
        let bytes = unsafe { foreign::slice(bytes, length) };
        let mut fields = [0; EVENT_BYTES];
        fields.get_mut(..bytes.len())?.copy_from_slice(bytes);
        // SAFETY: the node's facts, which outlive this call of it.
        let facts = unsafe { &*running.facts };
        let raised = Raised { plugin: facts.plugin, event: event as usize, fields, length: bytes.len() };
        facts.channels.raised.send(raised).then_some(OK)
    };
    // SAFETY: the plugin's pointers, within its call. A frame has at least one row.
    unsafe { within(context, 0, send) }
}

pub(super) unsafe extern "C" fn explain(context: *mut abi::Context, what: Text) {
    let note = |running: &mut Running, _: &mut Context<'_>, _: &mut Frame| {
        // SAFETY: the plugin's text.
        running.what = Some(unsafe { foreign::text(what) });
        Some(OK)
    };
    // SAFETY: the plugin's pointers, within its call. A frame has at least one row.
    unsafe { within(context, 0, note) };
}
