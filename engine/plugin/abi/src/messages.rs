use core::ffi::c_void;

use crate::{Answer, Control, Text};

/// A field of a message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MessageField {
    /// Its name.
    pub name: Text,
    /// Its type: `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`, `f64`, `bool`, `string`, or one that the daemon's own
    /// messages have, such as `interface_index` or `ip4_prefix`.
    pub kind: Text,
    /// Elements of it, where it has a fixed number of them, bytes of a `string`; 0 for a single one, and for a `string` of any
    /// length.
    pub length: u32,
    /// The field before it that says how many elements there are. Empty if no field does. Only the last field may have such
    /// a number of elements or be a `string` of any length.
    pub count: Text,
}

/// A message of VPP's binary API, added by `add_message`: a request, and what answers it. Clients know each by name and by a
/// checksum over its fields.
///
/// A request has a reply. One that has `details`, too, is answered by any number of these, and the reply behind them; one whose
/// name ends in `_dump` has details only, and no reply.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    /// The request's name, in small letters, digits and underscores; the reply's is the same with `_reply` behind it.
    pub name: Text,
    /// Description of the request.
    pub help: Text,
    /// The request's fields behind `client_index` and `context`.
    pub fields: *const MessageField,
    /// Number of fields.
    pub field_count: u32,
    /// The reply's fields behind `context` and `retval`.
    pub reply_fields: *const MessageField,
    /// Number of fields of the reply.
    pub reply_field_count: u32,
    /// The name of the message that `answer_details` adds one of. Empty if there is none.
    pub details: Text,
    /// The details' fields behind `context`.
    pub details_fields: *const MessageField,
    /// Number of fields of the details message.
    pub details_field_count: u32,
    /// The event, added by `add_event`, of which clients are told that ask for it by this request. Empty if there is none.
    pub event: Text,
    /// Handed to `answer`.
    pub user: *mut c_void,
    /// Answers a request at once. `request` has the bytes of its fields, as they came, at least as many as they take where
    /// lists are empty: integers in the order of the network, an `f64` in the host's. `answer_bytes` adds those of the reply, a
    /// call of `answer_details` has those of one details message; what is missing of them is zero. `subscribe` tells the client
    /// of the event from then on. Returns the reply's `retval`: 0, or a negative number of VPP's; then `refuse` says why, for
    /// the log, and no details are sent.
    pub answer: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            control: *mut Control,
            request: *const u8,
            length: usize,
            answer: *mut Answer,
        ) -> i32,
    >,
}

/// Bytes of an event at most that a worker raises.
pub const EVENT_BYTES: usize = 64;

/// A message that clients of VPP's binary API are told when they have asked for it, added by `add_event`. `tell` and `raise`
/// send it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    /// Its name.
    pub name: Text,
    /// Description of the event.
    pub help: Text,
    /// Its fields behind `client_index` and `pid`.
    pub fields: *const MessageField,
    /// Number of fields.
    pub field_count: u32,
}
