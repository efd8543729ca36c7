//! A plugin's messages of VPP's binary API, and its events. This crate hands them over; wire format, permissions and
//! subscriptions are the API's part.
#![allow(unsafe_code)]

use crate::calls::answer::AnswerData;
use crate::calls::side::Side;
use quiver_control::Control;
use quiver_plugin_abi as abi;
use std::ffi::c_void;

/// A field of a message.
#[derive(Clone, Debug)]
pub struct MessageField {
    /// Its name.
    pub name: String,
    /// Its type, such as `u32`.
    pub kind: String,
    /// Elements of it, or bytes of a text, where the number is fixed; else 0.
    pub length: u32,
    /// The field that says how many elements there are; empty if no field does.
    pub count: String,
}

/// A message: a request, and what answers it.
pub struct Message {
    /// The request's name.
    pub name: String,
    /// Description of the request.
    pub help: String,
    /// The request's fields behind its header.
    pub fields: Vec<MessageField>,
    /// The reply's. A dump has none.
    pub reply: Vec<MessageField>,
    /// The name of its details; empty if it has none.
    pub details: String,
    /// Their fields.
    pub details_fields: Vec<MessageField>,
    /// The name of the event that it asks for; empty if it asks for none.
    pub event: String,
    pub(crate) plugin: usize,
    pub(crate) user: *mut c_void,
    pub(crate) answer: Answer,
}

/// An event, sent to the clients that asked for it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Description of the event.
    pub help: String,
    /// Its fields behind its header.
    pub fields: Vec<MessageField>,
}

/// Answer of a plugin to a request.
pub struct Answered {
    /// VPP's number for how it ended.
    pub retval: i32,
    /// The bytes of the reply's fields.
    pub reply: Vec<u8>,
    /// The bytes of the fields of each details message.
    pub details: Vec<Vec<u8>>,
    /// Whether the client wants to be told of the event from now on, and as which `pid`.
    pub wanted: Option<(u32, bool)>,
}

/// The type of the function that answers one.
pub(crate) type Answer =
    unsafe extern "C" fn(*mut c_void, *mut abi::Control, *const u8, usize, *mut abi::Answer) -> i32;

/// The type of the function that looks at them.
type Check = fn(&Control, &[Message], &[Event]) -> Result<(), String>;

/// Functions that bring messages of plugins to clients. The engine does not know the protocol.
#[derive(Clone, Copy)]
pub struct MessageHost {
    /// Checks messages and events. The error says what is wrong with them.
    pub check: Check,
    /// Adds checked messages and events of a plugin, by its name and release.
    pub add: fn(&Control, &'static str, &str, Vec<Message>, &[Event]),
    /// Sends an event to clients, by its name, with the bytes of its fields.
    pub tell: fn(&Control, &str, &[u8]),
}

impl Message {
    /// Whether it has no reply: clients ask for something behind it to know that the details have ended.
    pub fn is_dump(&self) -> bool {
        self.name.ends_with("_dump")
    }
    /// Answers a request.
    pub fn answer(&self, control: &Control, request: &[u8]) -> Answered {
        let mut side = Side { control: control.clone(), plugin: self.plugin };
        let mut answer = AnswerData::new(control);
        let (bytes, length) = (request.as_ptr(), request.len());
        // SAFETY: the plugin's function, on the control thread; what it is given outlives the call.
        let retval = unsafe { (self.answer)(self.user, side.handle(), bytes, length, answer.handle()) };
        if let Some(refusal) = &answer.refusal {
            tracing::info!("{} is refused: {refusal}", self.name);
        }
        let AnswerData { bytes: reply, details, wanted, .. } = answer;
        match retval {
            0 => Answered { retval, reply, details, wanted },
            _ => Answered { retval, reply, details: vec![], wanted: None },
        }
    }
}
