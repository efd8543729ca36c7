//! A plugin's node in the graph of a worker: calls the plugin, and believes nothing that it leaves in the frame.
#![allow(unsafe_code)]

use crate::calls::answer::AnswerData;
use crate::channels::{Channels, Failure};
use quiver_engine::buffer::DATA;
use quiver_engine::trace::Record;
use quiver_engine::{BLOCK, Context, Counter, Flags, Frame, Node};
use quiver_plugin_abi as abi;
use quiver_plugin_abi::Host;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

/// The types of a node's functions.
pub(crate) type Process = unsafe extern "C" fn(*mut c_void, *mut abi::Context, *mut abi::Frame) -> abi::Status;
pub(crate) type Make = unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void;
pub(crate) type Free = unsafe extern "C" fn(*mut c_void);

/// Facts that all instances of a node share.
pub(crate) struct Facts {
    /// The number of the plugin.
    pub plugin: usize,
    /// The number of the node among the plugin's.
    pub node: usize,
    pub process: Process,
    /// The plugin's arcs; behind them is the one for packets of a node that failed.
    pub arcs: u16,
    /// Arc for packets if the node fails; without it they take the arc of failed nodes.
    pub pass: Option<u16>,
    pub channels: Channels,
    /// The daemon's functions.
    pub host: &'static Host,
}

/// Everything that instances are made of.
pub(crate) struct Seeds {
    pub user: *mut c_void,
    pub make: Option<Make>,
    pub free: Option<Free>,
    /// The value published last, for instances made later.
    pub published: Rc<RefCell<Option<Arc<Published>>>>,
}

/// A worker's state, which the plugin made and frees.
struct State {
    state: *mut c_void,
    free: Option<Free>,
}
// SAFETY: by the contract a state is made on the control thread for one worker, used by it alone, and freed on any thread.
unsafe impl Send for State {}
impl Drop for State {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: what `make` made, given back once; the plugin is never unloaded.
            unsafe { free(self.state) }
        }
    }
}

/// A value that a plugin made known to its nodes.
pub(crate) struct Published {
    value: *mut c_void,
    free: Option<Free>,
}
// SAFETY: by the contract such a value does not change, can be read by all workers, and is freed on any thread.
unsafe impl Send for Published {}
// SAFETY: as above.
unsafe impl Sync for Published {}
impl Published {
    pub fn new(value: *mut c_void, free: Option<Free>) -> Published {
        Published { value, free }
    }
}
impl Drop for Published {
    fn drop(&mut self) {
        if let Some(free) = self.free {
            // SAFETY: the plugin's value, given back once, when nobody reads it any more.
            unsafe { free(self.value) }
        }
    }
}

/// A worker's counters: one vector of (packets, bytes).
pub(crate) type Row = Arc<[[Counter; 2]]>;
const _: () = assert!(size_of::<[Counter; 2]>() == size_of::<abi::Count>());

/// The node's instance.
pub(crate) struct PluginNode {
    facts: Arc<Facts>,
    state: State,
    published: Option<Arc<Published>>,
    counters: Counters,
    /// It is not called any more.
    failed: bool,
}

/// The counters as the plugin sees them, and the memory that they are in.
struct Counters {
    sets: Box<[abi::CounterSet]>,
    _rows: Vec<Row>,
}
// SAFETY: the pointers are into `_rows`, which moves with them, and whose counters any thread may read.
unsafe impl Send for Counters {}

impl PluginNode {
    pub fn new(facts: Arc<Facts>, seeds: &Seeds, worker: usize, rows: Vec<Row>) -> PluginNode {
        // SAFETY: the plugin's function, called on the control thread as the contract says.
        let make = |make: Make| unsafe { make(seeds.user, worker as u32) };
        let state = State { state: seeds.make.map_or(std::ptr::null_mut(), make), free: seeds.free };
        let set = |row: &Row| abi::CounterSet { counts: row.as_ptr().cast_mut().cast(), length: row.len() as u32 };
        let counters = Counters { sets: rows.iter().map(set).collect(), _rows: rows };
        PluginNode { facts, state, published: seeds.published.borrow().clone(), counters, failed: false }
    }

    /// Replaces what was published; gives the old value back.
    pub fn publish(&mut self, published: Arc<Published>) -> Option<Arc<Published>> {
        self.published.replace(published)
    }

    /// Cuts what promises more than there is. False if a row takes an arc that the node does not have.
    fn mend(&self, cx: &Context, frame: &mut Frame) -> bool {
        let mut known = true;
        for i in 0..frame.len() {
            let offset = frame.offset[i].min(DATA as u16);
            frame.offset[i] = offset;
            frame.length[i] = match frame.flags(i).has(Flags::CHAINED) {
                true => frame.segments(cx.pool, i).map(|part| part.len() as u32).sum(),
                false => frame.length[i].min(DATA as u32 - u32::from(offset)),
            };
            if frame.next[i] >= self.facts.arcs {
                frame.next[i] = self.facts.arcs;
                known = false;
            }
        }
        known
    }

    #[cold]
    fn fail(&mut self, cx: &Context, frame: &mut Frame, what: String) {
        let n = frame.len();
        frame.next[..n].fill(self.facts.arcs);
        self.failed = true;
        let (plugin, node) = (self.facts.plugin, self.facts.node);
        self.facts.channels.failures.send(Failure { plugin, node, worker: cx.worker, what });
    }
}

/// A call of `process`: what the plugin sees, and what its calls back need.
#[repr(C)]
pub(crate) struct Running {
    /// First, so that its address is that of the whole.
    pub context: abi::Context,
    pub engine: *mut c_void,
    pub frame: *mut Frame,
    pub facts: *const Facts,
    /// Arcs that the plugin may name.
    pub arcs: u16,
    /// Why it is about to fail.
    pub what: Option<String>,
}

impl Node for PluginNode {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let n = frame.len();
        if self.failed {
            // Control closes the path over this node; until then packets go on as if it was not there.
            return frame.next[..n].fill(self.facts.pass.unwrap_or(self.facts.arcs));
        }
        let mut first = [0u16; BLOCK];
        for i in 0..n {
            first[i] = frame.bytes(cx.pool, i).len() as u16;
        }
        let columns = frame.raw_columns(cx.pool);
        let mut rows = abi::Frame {
            rows: n as u32,
            size: columns.size as u32,
            data: columns.data,
            stride: columns.stride,
            buffer: columns.buffer,
            offset: columns.offset,
            length: columns.length,
            first: first.as_mut_ptr(),
            rx: columns.rx,
            tx: columns.tx,
            flags: columns.flags,
            hop: columns.hop,
            next: columns.next,
        };
        let context = abi::Context {
            host: self.facts.host,
            now: cx.now,
            worker: cx.worker as u32,
            counter_sets: self.counters.sets.len() as u32,
            counters: self.counters.sets.as_ptr(),
            published: self.published.as_ref().map_or(std::ptr::null(), |published| published.value.cast_const()),
        };
        let engine = std::ptr::from_mut(cx).cast::<c_void>();
        let mut running = Running { context, engine, frame, facts: &*self.facts, arcs: self.facts.arcs, what: None };
        let context = std::ptr::from_mut(&mut running).cast::<abi::Context>();
        // SAFETY: the plugin's function, with its own state and a frame that nobody else uses meanwhile; its calls back find
        // engine and frame in `running`, whose address `context` is.
        let status = unsafe { (self.facts.process)(self.state.state, context, &mut rows) };
        let what = running.what.take();
        let known = self.mend(cx, frame);
        if status != abi::OK {
            self.fail(cx, frame, what.unwrap_or_else(|| format!("it returned status {status}")));
        } else if !known {
            self.fail(cx, frame, "it sent a packet by an arc that it does not have".into());
        }
    }
}

/// The plugin's function that formats its nodes' trace records.
pub(crate) struct Describe {
    pub user: *mut c_void,
    pub describe: unsafe extern "C" fn(*mut c_void, *const abi::Record, *mut abi::Answer),
}

impl Describe {
    pub fn say(&self, record: &Record) -> String {
        let crossing = abi::Record {
            bytes: record.bytes.as_ptr(),
            byte_count: record.bytes.len() as u32,
            length: record.length,
            arc: record.arc.map_or(abi::NO_ARC, u32::from),
            hop: record.hop,
            rx: record.rx,
            tx: record.tx,
            flags: record.flags.0,
            reserved: 0,
        };
        let mut answer = AnswerData::default();
        // SAFETY: the plugin's function, on the control thread; record and answer outlive the call.
        unsafe { (self.describe)(self.user, &crossing, answer.handle()) };
        answer.text
    }
}
