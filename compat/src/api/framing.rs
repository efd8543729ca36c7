//! Message ids, and the framing of messages on the socket.

use std::marker::PhantomData;

/// The number that stands for a message's name between this daemon and its clients.
pub struct MessageId<M>(pub(super) u16, pub(super) PhantomData<fn(M)>);

impl<M> Clone for MessageId<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for MessageId<M> {}

impl<M> MessageId<M> {
    /// Writes a message as it goes over the socket: 16 bytes of header with its length (vlibapi's `msgbuf_t`), its
    /// number, and the output of `body`.
    pub(crate) fn frame(self, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
        frame(out, self.0, body);
    }
}

/// Bytes before each message on the socket: 8 that mean nothing to others, its length, 4 that mean nothing.
pub const FRAME: usize = 16;

pub(crate) fn frame(out: &mut Vec<u8>, id: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.resize(start + FRAME, 0);
    out.extend(id.to_be_bytes());
    body(out);
    let length = (out.len() - start - FRAME) as u32;
    out[start + 8..start + 12].copy_from_slice(&length.to_be_bytes());
}
