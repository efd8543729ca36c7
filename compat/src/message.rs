//! Messages, and how they belong together: requests and replies, dumps and their details, streams, events.

use std::marker::PhantomData;

use crate::definition::{Definition, Header};
use crate::wire::{Input, Malformed};

/// A message. `derive(Message)` makes one of a struct, whose fields are those behind the header.
pub trait Message: Sized + 'static {
    /// Header in front of its own fields.
    const HEADER: Header;
    /// Its name.
    fn name() -> String;
    /// Its description.
    fn definition() -> Definition;
    /// Writes the fields behind the header.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads the fields behind the header.
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed>;
}

/// A message that one other answers.
pub trait Request: Message {
    /// The answer; its default goes with a refusal.
    type Reply: Message + Default;
    /// Events that the client gets after this request, if it asks for them.
    fn events() -> Vec<Definition> {
        vec![]
    }
}

/// A message that any number of others answer. The client knows by the answer to a `control_ping` behind it that they have
/// ended.
pub trait Dump: Message {
    /// An answer.
    type Details: Message;
}

/// A message that any number of others answer, and one at the end.
pub trait Stream: Message {
    /// An answer.
    type Details: Message;
    /// The last one.
    type Reply: Message + Default;
}

/// The reply to a request that carries nothing but its result.
pub struct Done<R>(PhantomData<R>);

impl<R> Default for Done<R> {
    fn default() -> Done<R> {
        Done(PhantomData)
    }
}
impl<R: Message> Message for Done<R> {
    const HEADER: Header = Header::Reply;
    fn name() -> String {
        format!("{}_reply", R::name())
    }
    fn definition() -> Definition {
        Definition::new(
            &Self::name(),
            Header::Reply,
            vec![],
            &format!("Result of `{}`: `retval` is 0 or a negative VPP error.", R::name()),
        )
    }
    fn put(&self, _: &mut Vec<u8>) {}
    fn take(_: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(Done::default())
    }
}

/// Items that the derive uses.
pub mod derived {
    pub use super::{Done, Dump, Message, Request, Stream};
    pub use crate::definition::{Definition, Field, Header};
    pub use crate::wire::derived::{counted, list, put_count, put_list, take_count, take_list};
    pub use crate::wire::{Input, Malformed, Wire};
}
