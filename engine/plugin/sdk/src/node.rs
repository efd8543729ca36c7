//! Nodes, and what they may touch besides their frame.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::frame::{Flags, Frame};
use crate::handles::{Counters, Event, MetadataKey};
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A node's work. Every worker has an instance of its own.
pub trait Node: Send + 'static {
    /// Value that control publishes to all instances: [`Control::publish`](crate::Control::publish).
    type Published: Send + Sync + 'static;

    /// Sets the arc of each row; rows start with arc 0. A panic disables the node.
    fn process(&mut self, cx: &mut Context<'_, Self::Published>, frame: &mut Frame<'_>);

    /// Says in lines what the node did with a traced packet, beside its arc.
    fn describe(record: &Record<'_>) -> String {
        let _ = record;
        String::new()
    }
}

/// Everything that a node may access besides its frame.
pub struct Context<'c, P> {
    raw: *mut abi::Context,
    published: PhantomData<&'c P>,
}

impl<P> Context<'_, P> {
    fn fields(&self) -> &abi::Context {
        // SAFETY: the daemon's context, which does not change during the call that this value lives in.
        unsafe { &*self.raw }
    }
    fn host(&self) -> &'static abi::Host {
        // SAFETY: the daemon's table is valid for ever.
        unsafe { &*self.fields().host }
    }
    /// Nanoseconds of the engine's clock at the start of the worker's turn.
    pub fn now(&self) -> u64 {
        self.fields().now
    }
    /// The number of the worker.
    pub fn worker(&self) -> usize {
        self.fields().worker as usize
    }
    /// The value that control published last.
    pub fn published(&self) -> Option<&P> {
        // SAFETY: the value that `Control::publish` gave for this node, of this type; the daemon keeps it during the call.
        unsafe { self.fields().published.cast::<P>().as_ref() }
    }
    /// Counts packets and bytes.
    ///
    /// # Panics
    /// If there is no such counter.
    pub fn count(&self, counters: Counters, index: usize, packets: u64, bytes: u64) {
        assert!(index < counters.length as usize, "counter {index} of {}", counters.length);
        let fields = self.fields();
        assert!(counters.number < fields.counter_sets, "the counters are another plugin's");
        // SAFETY: both indexes are inside; this worker is the only writer of its counters, which others read.
        unsafe {
            let count = (*fields.counters.add(counters.number as usize)).counts.add(index);
            let add = |at: *mut u64, n: u64| {
                let counter = AtomicU64::from_ptr(at);
                counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
            };
            add(&raw mut (*count).packets, packets);
            add(&raw mut (*count).bytes, bytes);
        }
    }
    /// The parts of a row's packet, in order: one unless it is chained.
    pub fn segments<'f>(&self, frame: &'f Frame<'_>, row: usize) -> Vec<&'f [u8]> {
        assert!(row < frame.len(), "row {row} of {}", frame.len());
        let part = |part| {
            let mut bytes = abi::Slice { data: std::ptr::null_mut(), length: 0 };
            // SAFETY: the daemon's function and context, on its worker, within the call.
            let status = unsafe { (self.host().segment)(self.raw, row as u32, part, &mut bytes) };
            // SAFETY: bytes of the row, which the borrowed frame keeps as they are.
            (status == abi::OK).then(|| unsafe { std::slice::from_raw_parts(bytes.data, bytes.length) })
        };
        (0..).map_while(part).collect()
    }
    /// Offload state of a row's packet.
    pub fn offload(&self, row: usize) -> Option<abi::Offload> {
        let mut offload = abi::Offload::default();
        // SAFETY: as in `segments`.
        let status = unsafe { (self.host().offload)(self.raw, row as u32, &mut offload) };
        (status == abi::OK).then_some(offload)
    }
    /// Replaces it.
    pub fn set_offload(&mut self, row: usize, offload: abi::Offload) {
        // SAFETY: as in `segments`. A row that is not there is ignored.
        let _ = unsafe { (self.host().set_offload)(self.raw, row as u32, &offload) };
    }
    /// Metadata of a row's packet by its key.
    pub fn metadata(&self, row: usize, key: MetadataKey) -> Option<u64> {
        let mut value = 0;
        // SAFETY: as in `segments`.
        let status = unsafe { (self.host().metadata)(self.raw, row as u32, key.number, &mut value) };
        (status == abi::OK).then_some(value)
    }
    /// Keeps a value with a row's packet: it goes with it to other nodes and workers, to copies and fragments.
    pub fn set_metadata(&mut self, row: usize, key: MetadataKey, value: u64) {
        // SAFETY: as in `segments`. A row that is not there is ignored.
        let _ = unsafe { (self.host().set_metadata)(self.raw, row as u32, key.number, value) };
    }
    /// Sends a packet with these bytes, as if it came from interface `rx`. False if there is no buffer.
    pub fn emit(&mut self, arc: impl Into<u16>, bytes: &[u8], rx: u32, tx: u32) -> bool {
        // SAFETY: as in `segments`.
        let status = unsafe { (self.host().emit)(self.raw, arc.into(), bytes.as_ptr(), bytes.len(), rx, tx, 0) };
        status == abi::OK
    }
    /// Sends a copy of a row's packet. False if there is no buffer.
    pub fn emit_copy(&mut self, row: usize, arc: impl Into<u16>) -> bool {
        // SAFETY: as in `segments`.
        unsafe { (self.host().emit_copy)(self.raw, row as u32, arc.into()) == abi::OK }
    }
    /// Sends an event, a little later. False if it is lost: it has more than 64 bytes, or some hundred are on their
    /// way.
    pub fn raise(&mut self, event: Event, fields: &[u8]) -> bool {
        // SAFETY: as in `segments`; the bytes outlive the call.
        unsafe { (self.host().raise)(self.raw, event.number, fields.as_ptr(), fields.len()) == abi::OK }
    }
}

/// Record of one node and one traced packet.
pub struct Record<'r>(&'r abi::Record);

impl Record<'_> {
    /// The packet's first bytes as they came to the node, from the current header on; at most 128.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the daemon's bytes, valid for as long as the record is.
        unsafe { std::slice::from_raw_parts(self.0.bytes, self.0.byte_count as usize) }
    }
    /// Bytes of the whole packet.
    pub fn length(&self) -> u32 {
        self.0.length
    }
    /// The number of the arc that it took.
    pub fn arc(&self) -> Option<u16> {
        u16::try_from(self.0.arc).ok()
    }
    /// The interface that received it.
    pub fn rx(&self) -> u32 {
        self.0.rx
    }
    /// The interface that is to send it.
    pub fn tx(&self) -> u32 {
        self.0.tx
    }
    /// Result of a lookup, behind the node.
    pub fn hop(&self) -> u32 {
        self.0.hop
    }
    /// Flags of the packet.
    pub fn flags(&self) -> Flags {
        Flags(self.0.flags)
    }
}

/// State behind the `user` pointer of `make` and `describe`.
pub(crate) struct Maker<N> {
    pub host: &'static abi::Host,
    pub make: Box<dyn Fn(usize) -> N>,
}

pub(crate) unsafe extern "C" fn make<N: Node>(user: *mut c_void, worker: u32) -> *mut c_void {
    // SAFETY: `user` is the maker that was leaked for this node.
    let maker = unsafe { &*user.cast::<Maker<N>>() };
    match caught(|| (maker.make)(worker as usize)) {
        Ok(node) => Box::into_raw(Box::new(node)).cast(),
        // `process` finds no state and says so.
        Err(_) => std::ptr::null_mut(),
    }
}

pub(crate) unsafe extern "C" fn process<N: Node>(
    state: *mut c_void,
    context: *mut abi::Context,
    frame: *mut abi::Frame,
) -> abi::Status {
    // SAFETY: the state that `make` made for this worker, and the daemon's frame, for the time of this call.
    let (node, frame) = unsafe { (state.cast::<N>().as_mut(), &mut *frame) };
    let mut cx = Context { raw: context, published: PhantomData };
    let host = cx.host();
    let worked = match node {
        Some(node) => {
            caught(|| node.process(&mut cx, &mut Frame::new(frame))).map_err(|said| format!("it panicked: {said}"))
        }
        None => Err("making its state had panicked".to_owned()),
    };
    match worked {
        Ok(()) => abi::OK,
        Err(what) => {
            // SAFETY: the daemon's function and context.
            unsafe { (host.explain)(context, abi::Text::new(&what)) };
            abi::FAILED
        }
    }
}

pub(crate) unsafe extern "C" fn free<N: Node>(state: *mut c_void) {
    if !state.is_null() {
        // SAFETY: what `make` made, given back once.
        let node = unsafe { Box::from_raw(state.cast::<N>()) };
        // A panic while it is dropped must not cross; what it holds is lost then.
        let _ = caught(|| drop(node));
    }
}

pub(crate) unsafe extern "C" fn describe<N: Node>(
    user: *mut c_void,
    record: *const abi::Record,
    answer: *mut abi::Answer,
) {
    // SAFETY: as in `make`, and the daemon's record for the time of this call.
    let (maker, record) = unsafe { (&*user.cast::<Maker<N>>(), Record(&*record)) };
    let text = caught(|| N::describe(&record)).unwrap_or_else(|said| format!("its description panicked: {said}"));
    if !text.is_empty() {
        // SAFETY: the daemon's function and handle.
        unsafe { (maker.host.answer_text)(answer, abi::Text::new(&text)) }
    }
}
