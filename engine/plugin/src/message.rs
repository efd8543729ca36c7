//! A plugin's messages of VPP's binary API. What they look like on the wire, and who may send them, is for whoever knows the
//! protocol: this crate hands them over.
#![allow(unsafe_code)]

use crate::calls::Side;
use crate::calls::answer::AnswerData;
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

/// A message: a request, and the reply to it.
pub struct Message {
    /// The request's name.
    pub name: String,
    /// What it asks for.
    pub help: String,
    /// The request's fields behind its header.
    pub fields: Vec<MessageField>,
    /// The reply's.
    pub reply: Vec<MessageField>,
    pub(crate) plugin: usize,
    pub(crate) user: *mut c_void,
    pub(crate) answer: Answer,
}

/// The type of the function that answers one.
pub(crate) type Answer =
    unsafe extern "C" fn(*mut c_void, *mut abi::Control, *const u8, usize, *mut abi::Answer) -> i32;

/// How messages of plugins reach clients. The engine knows no protocol of theirs.
#[derive(Clone, Copy)]
pub struct MessageHost {
    /// Says what is wrong with messages, if anything is.
    pub check: fn(&Control, &[Message]) -> Result<(), String>,
    /// Adds messages that were found good, of a plugin of this name and release.
    pub add: fn(&Control, &'static str, &str, Vec<Message>),
}

impl Message {
    /// Answers a request: the reply's retval, and the bytes of its fields.
    pub fn answer(&self, control: &Control, request: &[u8]) -> (i32, Vec<u8>) {
        let mut side = Side { control: control.clone(), plugin: self.plugin };
        let mut answer = AnswerData::new(control);
        let (bytes, length) = (request.as_ptr(), request.len());
        // SAFETY: the plugin's function, on the control thread; what it is given outlives the call.
        let retval = unsafe { (self.answer)(self.user, side.handle(), bytes, length, answer.handle()) };
        if let Some(refusal) = &answer.refusal {
            tracing::info!("{} is refused: {refusal}", self.name);
        }
        (retval, answer.bytes)
    }
}
