//! Messages of VPP's binary API.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::control::{Control, Refusal};
use crate::setup::SetupError;
use quiver_plugin_abi as abi;
use std::ffi::c_void;
use std::marker::PhantomData;

/// The number of VPP's for what has no number of its own.
const UNSPECIFIED: i32 = -1;

/// A field of a message, or of the reply to it.
#[derive(Clone, Debug)]
pub struct MessageField {
    name: String,
    kind: String,
    length: u32,
    count: String,
}

impl MessageField {
    /// A field of one element: its type (`u8` to `u64`, `i8` to `i64`, `f64`, `bool`, or one that messages of the daemon have, such
    /// as `interface_index`), and its name. A `string` has any length, and is the last field.
    pub fn new(kind: &str, name: &str) -> MessageField {
        MessageField { name: name.to_owned(), kind: kind.to_owned(), length: 0, count: String::new() }
    }
    /// Makes it so many elements, or a `string` of so many bytes.
    #[must_use]
    pub fn array(mut self, length: u32) -> MessageField {
        self.length = length;
        self
    }
    /// Makes it as many elements as the field of this name says, which stands before it. It is the last field.
    #[must_use]
    pub fn counted_by(mut self, field: &str) -> MessageField {
        field.clone_into(&mut self.count);
        self
    }
    fn crossing(&self) -> abi::MessageField {
        let [name, kind, count] = [&self.name, &self.kind, &self.count].map(|text| abi::Text::new(text));
        abi::MessageField { name, kind, length: self.length, count }
    }
}

/// A refusal, and the number that the reply says it by.
#[derive(Clone, Debug)]
pub struct Refused(pub i32, pub Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused(UNSPECIFIED, refusal)
    }
}

type Answer = Box<dyn Fn(&Control<'_>, &[u8]) -> Result<Vec<u8>, Refused>>;

/// A message that clients of VPP's binary API send, and the reply to it.
pub struct Message {
    name: String,
    help: String,
    fields: Vec<MessageField>,
    reply: Vec<MessageField>,
    answer: Answer,
}

impl Message {
    /// A request: its name in small letters, digits and underscores, what it asks for, and its fields behind `client_index`
    /// and `context`. `answer` gets the bytes of these, at least as many as they take where lists are empty, and gives
    /// those of the reply's fields: integers in the order of the network, an `f64` in the host's.
    pub fn new(
        name: &str,
        help: &str,
        fields: impl IntoIterator<Item = MessageField>,
        answer: impl Fn(&Control<'_>, &[u8]) -> Result<Vec<u8>, Refused> + 'static,
    ) -> Message {
        let (name, help, fields) = (name.to_owned(), help.to_owned(), fields.into_iter().collect());
        Message { name, help, fields, reply: vec![], answer: Box::new(answer) }
    }
    /// The reply's fields behind `context` and `retval`.
    #[must_use]
    pub fn reply(mut self, fields: impl IntoIterator<Item = MessageField>) -> Message {
        self.reply = fields.into_iter().collect();
        self
    }
    pub(crate) fn cross(
        self,
        host: &'static abi::Host,
        add: impl FnOnce(&abi::Message, &str) -> Result<(), SetupError>,
    ) -> Result<(), SetupError> {
        let [fields, reply] =
            [&self.fields, &self.reply].map(|fields| fields.iter().map(MessageField::crossing).collect::<Vec<_>>());
        // The daemon calls it for as long as the process lives.
        let user = Box::into_raw(Box::new(Ready { host, answer: self.answer }));
        let crossing = abi::Message {
            name: abi::Text::new(&self.name),
            help: abi::Text::new(&self.help),
            fields: fields.as_ptr(),
            field_count: fields.len() as u32,
            reply_fields: reply.as_ptr(),
            reply_field_count: reply.len() as u32,
            user: user.cast(),
            answer: Some(answer),
        };
        add(&crossing, &self.name)
    }
}

struct Ready {
    host: &'static abi::Host,
    answer: Answer,
}

unsafe extern "C" fn answer(
    user: *mut c_void,
    control: *mut abi::Control,
    request: *const u8,
    length: usize,
    answer: *mut abi::Answer,
) -> i32 {
    // SAFETY: `user` was leaked for this message.
    let ready = unsafe { &*user.cast::<Ready>() };
    let request = match request.is_null() {
        true => &[],
        // SAFETY: the daemon's bytes, for the time of this call.
        false => unsafe { std::slice::from_raw_parts(request, length) },
    };
    let control = Control { host: ready.host, control, answer, call: PhantomData };
    let mut retval = UNSPECIFIED;
    let answered = caught(|| (ready.answer)(&control, request)).map(|answered| match answered {
        Ok(bytes) => {
            // SAFETY: the daemon's function and handle, within its call; the bytes outlive it.
            unsafe { (ready.host.answer_bytes)(answer, bytes.as_ptr(), bytes.len()) };
            Ok(())
        }
        Err(Refused(number, refusal)) => {
            retval = number;
            Err(refusal)
        }
    });
    if control.end(answered) == abi::OK { 0 } else { retval }
}
