//! Messages of VPP's binary API.
#![allow(unsafe_code)]

use crate::boundary::caught;
use crate::control::Control;
use crate::error::SetupError;
use crate::refusal::Refusal;
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

/// Answer to a request: the bytes of the fields behind the headers. Missing bytes are zero.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    reply: Vec<u8>,
    details: Vec<Vec<u8>>,
    wanted: Option<(u32, bool)>,
}

impl Answer {
    /// A details message for each of these.
    pub fn details(details: impl IntoIterator<Item = Vec<u8>>) -> Answer {
        Answer { details: details.into_iter().collect(), ..Answer::default() }
    }
    /// Tells the client of the message's event from now on, with the `pid` that it gave, if it is `wanted`, or no more.
    pub fn subscription(pid: u32, wanted: bool) -> Answer {
        Answer { wanted: Some((pid, wanted)), ..Answer::default() }
    }
    /// The same, with a reply of these fields.
    #[must_use]
    pub fn reply(mut self, reply: impl Into<Vec<u8>>) -> Answer {
        self.reply = reply.into();
        self
    }
    fn cross(&self, host: &abi::Host, into: *mut abi::Answer) {
        let Answer { reply, details, wanted } = self;
        // SAFETY: the daemon's functions and handle, within its call; the bytes outlive it.
        unsafe {
            (host.answer_bytes)(into, reply.as_ptr(), reply.len());
            details.iter().for_each(|fields| (host.answer_details)(into, fields.as_ptr(), fields.len()));
            if let Some((pid, wanted)) = *wanted {
                (host.subscribe)(into, pid, wanted);
            }
        }
    }
}
impl From<Vec<u8>> for Answer {
    fn from(reply: Vec<u8>) -> Answer {
        Answer::default().reply(reply)
    }
}
impl From<()> for Answer {
    fn from((): ()) -> Answer {
        Answer::default()
    }
}

type Run = Box<dyn Fn(&Control<'_>, &[u8]) -> Result<Answer, Refused>>;

/// A message that clients of VPP's binary API send, and what answers it.
pub struct Message {
    name: String,
    help: String,
    fields: Vec<MessageField>,
    reply: Vec<MessageField>,
    details: String,
    details_fields: Vec<MessageField>,
    event: String,
    answer: Run,
}

impl Message {
    /// A request: its name in small letters, digits and underscores, what it asks for, and its fields behind `client_index`
    /// and `context`. `answer` gets the bytes of these, at least as many as they take where lists are empty, and gives
    /// those of the reply's fields, as a `Vec<u8>`, or an [`Answer`]: integers in the order of the network, an `f64` in the
    /// host's. It has a reply, unless its name ends in `_dump`.
    pub fn new<A: Into<Answer>>(
        name: &str,
        help: &str,
        fields: impl IntoIterator<Item = MessageField>,
        answer: impl Fn(&Control<'_>, &[u8]) -> Result<A, Refused> + 'static,
    ) -> Message {
        Message {
            name: name.to_owned(),
            help: help.to_owned(),
            fields: fields.into_iter().collect(),
            reply: vec![],
            details: String::new(),
            details_fields: vec![],
            event: String::new(),
            answer: Box::new(move |control, request| answer(control, request).map(Into::into)),
        }
    }
    /// The reply's fields behind `context` and `retval`.
    #[must_use]
    pub fn reply(mut self, fields: impl IntoIterator<Item = MessageField>) -> Message {
        self.reply = fields.into_iter().collect();
        self
    }
    /// The message that comes in any number before the reply, or in its place if this is a dump: its name, and its fields
    /// behind `context`.
    #[must_use]
    pub fn details(mut self, name: &str, fields: impl IntoIterator<Item = MessageField>) -> Message {
        name.clone_into(&mut self.details);
        self.details_fields = fields.into_iter().collect();
        self
    }
    /// The event of this name is what clients ask for by it: [`Answer::subscription`].
    #[must_use]
    pub fn event(mut self, name: &str) -> Message {
        name.clone_into(&mut self.event);
        self
    }
    pub(crate) fn cross(
        self,
        host: &'static abi::Host,
        add: impl FnOnce(&abi::Message, &str) -> Result<(), SetupError>,
    ) -> Result<(), SetupError> {
        let [fields, reply, details] = [&self.fields, &self.reply, &self.details_fields].map(|fields| crossing(fields));
        // The daemon calls it for as long as the process lives.
        let user = Box::into_raw(Box::new(Ready { host, answer: self.answer }));
        let crossing = abi::Message {
            name: abi::Text::new(&self.name),
            help: abi::Text::new(&self.help),
            fields: fields.as_ptr(),
            field_count: fields.len() as u32,
            reply_fields: reply.as_ptr(),
            reply_field_count: reply.len() as u32,
            details: abi::Text::new(&self.details),
            details_fields: details.as_ptr(),
            details_field_count: details.len() as u32,
            event: abi::Text::new(&self.event),
            user: user.cast(),
            answer: Some(answer),
        };
        add(&crossing, &self.name)
    }
}

/// Fields as they cross.
pub(crate) fn crossing(fields: &[MessageField]) -> Vec<abi::MessageField> {
    fields.iter().map(MessageField::crossing).collect()
}

struct Ready {
    host: &'static abi::Host,
    answer: Run,
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
        Ok(answered) => {
            answered.cross(ready.host, answer);
            Ok(())
        }
        Err(Refused(number, refusal)) => {
            retval = number;
            Err(refusal)
        }
    });
    if control.end(answered) == abi::OK { 0 } else { retval }
}
