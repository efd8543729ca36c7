//! A plugin's table and the daemon's. A node and its context are here, too: the daemon's functions take them, and a context leads
//! back to these functions.

use core::ffi::c_void;

use crate::{
    Answer, Arc, Call, Command, Control, Count, CounterSet, Counters, Event, Feature, FeatureArc, Frame, Kind, Message,
    Object, Offload, Record, Setting, Setup, Slice, Status, Text, Value,
};

/// The result of `quiver_plugin_entry`: a static table. Its first two fields never change between versions.
#[repr(C)]
pub struct Plugin {
    /// [`MAGIC`](crate::MAGIC).
    pub magic: u64,
    /// [`VERSION`](crate::VERSION) that the plugin was built for.
    pub version: u32,
    /// Not used.
    pub reserved: u32,
    /// The plugin's name, which no other loaded plugin has.
    pub name: Text,
    /// Its own version.
    pub release: Text,
    /// The compiler that built it.
    pub built_by: Text,
    /// Says what the plugin brings, by the functions that take a setup. If it fails, nothing of it is registered.
    pub setup: Option<unsafe extern "C" fn(host: *const Host, setup: *mut Setup) -> Status>,
}

/// An error, said loudly.
pub const LOG_ERROR: u32 = 0;
/// A warning.
pub const LOG_WARNING: u32 = 1;
/// News.
pub const LOG_INFO: u32 = 2;

/// The daemon's functions. The table is valid for as long as the process lives. None of them is null.
#[repr(C)]
pub struct Host {
    /// [`VERSION`](crate::VERSION) of the daemon.
    pub version: u32,
    /// Not used.
    pub reserved: u32,

    /// Adds a node. `node` gets the number by which `publish` and others know it.
    pub add_node: unsafe extern "C" fn(setup: *mut Setup, spec: *const Node, node: *mut u32) -> Status,
    /// Adds a feature arc.
    pub add_feature_arc: unsafe extern "C" fn(setup: *mut Setup, spec: *const FeatureArc) -> Status,
    /// Puts a node on a feature arc.
    pub add_feature: unsafe extern "C" fn(setup: *mut Setup, spec: *const Feature) -> Status,
    /// Adds a vector of counters. `counters` gets its number.
    pub add_counters: unsafe extern "C" fn(setup: *mut Setup, spec: *const Counters, counters: *mut u32) -> Status,
    /// Adds a kind of config objects.
    pub add_kind: unsafe extern "C" fn(setup: *mut Setup, spec: *const Kind) -> Status,
    /// Adds a command.
    pub add_command: unsafe extern "C" fn(setup: *mut Setup, spec: *const Command) -> Status,
    /// Adds a message of VPP's binary API.
    pub add_message: unsafe extern "C" fn(setup: *mut Setup, spec: *const Message) -> Status,
    /// Adds an event of VPP's binary API. `event` gets its number.
    pub add_event: unsafe extern "C" fn(setup: *mut Setup, spec: *const Event, event: *mut u32) -> Status,
    /// The key by which a value of 64 bits of this name is kept with packets, by the plugin or by a room of the daemon that has such
    /// a key: see `show metadata`. There are five in all.
    pub metadata_key: unsafe extern "C" fn(setup: *mut Setup, name: Text, key: *mut u32) -> Status,
    /// Says why `setup` is about to fail.
    pub refuse_setup: unsafe extern "C" fn(setup: *mut Setup, what: Text),

    /// Enables or disables a feature of a feature arc on an interface.
    pub enable: unsafe extern "C" fn(control: *mut Control, arc: Text, node: Text, interface: u32, on: bool) -> Status,
    /// Lets a plugin's node stand for the one that it was added for, or takes it away from there.
    pub stand_in: unsafe extern "C" fn(control: *mut Control, node: u32, on: bool) -> Status,
    /// Lets an arc of any node lead to another node, or, with an empty `to`, where it was declared to lead.
    pub rewire: unsafe extern "C" fn(control: *mut Control, node: Text, arc: Text, to: Text) -> Status,
    /// Makes a value known to all instances of a plugin's node: their contexts' `published`. It must not change any more.
    /// `free` is called once, when no worker can read it any more, on whatever thread lets go of it last; if the call
    /// fails, before it returns.
    pub publish: unsafe extern "C" fn(
        control: *mut Control,
        node: u32,
        value: *mut c_void,
        free: Option<unsafe extern "C" fn(value: *mut c_void)>,
    ) -> Status,
    /// The sum of a plugin's counter over all workers.
    pub read_counter:
        unsafe extern "C" fn(control: *mut Control, counters: u32, index: u32, count: *mut Count) -> Status,
    /// The number of the interface of this name.
    pub interface: unsafe extern "C" fn(control: *mut Control, name: Text, interface: *mut u32) -> Status,
    /// Makes a config object run: changes these fields of the one with their key, or creates it. `answer` gets the refusal.
    pub put: unsafe extern "C" fn(
        control: *mut Control,
        kind: Text,
        settings: *const Setting,
        setting_count: u32,
        answer: *mut Answer,
    ) -> Status,
    /// Deletes the config object whose key the settings give. `answer` gets the refusal.
    pub remove: unsafe extern "C" fn(
        control: *mut Control,
        kind: Text,
        settings: *const Setting,
        setting_count: u32,
        answer: *mut Answer,
    ) -> Status,
    /// Tells an event, with these bytes of its fields, to all clients that asked for it.
    pub tell: unsafe extern "C" fn(control: *mut Control, event: u32, bytes: *const u8, length: usize) -> Status,

    /// The value of an object's field, or item `index` of a list; `QUIVER_VALUE_NONE` if there is none. Text is valid until the
    /// call that the object was given to returns.
    pub field: unsafe extern "C" fn(object: *const Object, name: Text, index: u32, value: *mut Value) -> Status,
    /// The value of a command's argument, the `index`th if it may stand several times; `QUIVER_VALUE_NONE` if it was not given.
    pub argument: unsafe extern "C" fn(call: *const Call, name: Text, index: u32, value: *mut Value) -> Status,
    /// Whether the line has this word of the grammar.
    pub has_word: unsafe extern "C" fn(call: *const Call, word: Text) -> bool,

    /// Adds lines to an answer.
    pub answer_text: unsafe extern "C" fn(answer: *mut Answer, text: Text),
    /// Makes the answer a table with these titles.
    pub answer_columns: unsafe extern "C" fn(answer: *mut Answer, titles: *const Text, count: u32),
    /// Adds a row to the table.
    pub answer_row: unsafe extern "C" fn(answer: *mut Answer, cells: *const Value, count: u32),
    /// Adds bytes to the reply to a message.
    pub answer_bytes: unsafe extern "C" fn(answer: *mut Answer, bytes: *const u8, length: usize),
    /// Adds a details message, with these bytes of its fields, before the reply.
    pub answer_details: unsafe extern "C" fn(answer: *mut Answer, bytes: *const u8, length: usize),
    /// Tells the client of the message's event from now on, if it is `wanted`, or no more. It finds its `pid` in each.
    pub subscribe: unsafe extern "C" fn(answer: *mut Answer, pid: u32, wanted: bool),
    /// Says why the call is about to fail: the field or argument (or none), what is wrong, and what would be right.
    pub refuse: unsafe extern "C" fn(answer: *mut Answer, field: Text, what: Text, remedy: Text),

    /// Part `part` of a row's packet, 0 being the first buffer's. Fails behind the last one.
    pub segment: unsafe extern "C" fn(context: *mut Context, row: u32, part: u32, bytes: *mut Slice) -> Status,
    /// Reads the offload state of a row's packet. Fails if it has none.
    pub offload: unsafe extern "C" fn(context: *mut Context, row: u32, offload: *mut Offload) -> Status,
    /// Replaces it.
    pub set_offload: unsafe extern "C" fn(context: *mut Context, row: u32, offload: *const Offload) -> Status,
    /// Reads the metadata of a row's packet by its key. Fails if there is none.
    pub metadata: unsafe extern "C" fn(context: *mut Context, row: u32, key: u32, value: *mut u64) -> Status,
    /// Keeps a value with a row's packet: it goes with it to other nodes and workers, to copies and fragments.
    pub set_metadata: unsafe extern "C" fn(context: *mut Context, row: u32, key: u32, value: u64) -> Status,
    /// Sends a packet with these bytes, taken to come from `rx`, by an arc of the node. Fails if there is no buffer.
    pub emit: unsafe extern "C" fn(
        context: *mut Context,
        arc: u16,
        bytes: *const u8,
        length: usize,
        rx: u32,
        tx: u32,
        hop: u32,
    ) -> Status,
    /// Sends a copy of a row's packet by an arc of the node. Fails if there is no buffer.
    pub emit_copy: unsafe extern "C" fn(context: *mut Context, row: u32, arc: u16) -> Status,
    /// Sends an event as `tell` does, a little later. Fails, and the event is lost, if it has more than `EVENT_BYTES`,
    /// or if some hundred are on their way already: a flood of packets makes no flood of events.
    pub raise: unsafe extern "C" fn(context: *mut Context, event: u32, bytes: *const u8, length: usize) -> Status,
    /// Says why `process` is about to fail.
    pub explain: unsafe extern "C" fn(context: *mut Context, what: Text),

    /// Writes to the daemon's log, `QUIVER_LOG_...`. Not for workers.
    pub log: unsafe extern "C" fn(level: u32, text: Text),
}

/// A node of the graph, added by `add_node`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Node {
    /// Its name, which no other node has.
    pub name: Text,
    /// Its arcs, `arc_count` of them. The first one that is no drop is how packets go on should the node fail.
    pub arcs: *const Arc,
    /// Arcs, at most 256.
    pub arc_count: u32,
    /// A node that this one stands for, once `stand_in` says so: what leads there leads here instead, but for this node's
    /// own arcs. Empty if it stands for none.
    pub stands_for: Text,
    /// Handed to `make` and `describe`.
    pub user: *mut c_void,
    /// Makes the state of a worker's instance; called for each worker, on the control thread. May be null: no state.
    pub make: Option<unsafe extern "C" fn(user: *mut c_void, worker: u32) -> *mut c_void>,
    /// Sets `next` of every row. Called on the worker with its state. If it does not return [`OK`](crate::OK), the node is
    /// disabled for good, the frame's packets are dropped by the reason `plugin-failed`, and the path closes over it.
    pub process: Option<unsafe extern "C" fn(state: *mut c_void, context: *mut Context, frame: *mut Frame) -> Status>,
    /// Frees what `make` made, on whatever thread lets go of it last. May be null.
    pub free: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Says in lines what the node did with a traced packet (`answer_text`). May be null.
    pub describe: Option<unsafe extern "C" fn(user: *mut c_void, record: *const Record, answer: *mut Answer)>,
}

/// Everything that a node's call may access besides its frame.
#[repr(C)]
pub struct Context {
    /// The daemon's functions.
    pub host: *const Host,
    /// Nanoseconds of the engine's clock.
    pub now: u64,
    /// The number of the worker.
    pub worker: u32,
    /// Vectors of counters.
    pub counter_sets: u32,
    /// The worker's counters, by the numbers that `add_counters` gave.
    pub counters: *const CounterSet,
    /// The value that `publish` set last for the node; null before the first.
    pub published: *const c_void,
}
