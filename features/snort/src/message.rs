//! Messages on the socket: a client asks, quiverd answers, one packet each, in the machine's byte order.

/// Bytes of a request.
pub const REQUEST: usize = 36;
/// Bytes of a reply.
pub const REPLY: usize = 40;
/// Bytes of the name of an input, which is an instance, with the zero behind it.
pub const NAME: usize = 32;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A client introduces itself.
    Connect {
        /// Version of its libdaq, a byte for each part from the highest on.
        version: u32,
        /// Threads that inspect.
        threads: u16,
        /// Mode of operation.
        mode: u8,
    },
    /// Asks for memory that packets lie in.
    GetBufferPool(u8),
    /// Asks for an instance by its name.
    GetInput(String),
    /// Asks for a queue pair of an instance.
    AttachQueuePair {
        /// Number of the instance.
        input: u16,
        /// Number of the pair.
        pair: u16,
    },
}

/// Modes of operation, by their numbers.
pub const MODES: [&str; 4] = ["none", "passive", "inline", "read-file"];

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// The system has no memory or files left.
    Memory = 2,
    /// The message makes no sense, or not now.
    Message = 4,
    /// There is no queue pair of this number.
    Index = 5,
    /// There is no instance of this name or number, or it came after the client.
    Input = 6,
    /// Another client has the queue pair.
    InUse = 7,
    /// Such a mode does not exist.
    Mode = 9,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Number of memories that packets lie in.
    Connect {
        /// Their number.
        pools: u16,
    },
    /// Memory that packets lie in; its file comes along.
    BufferPool {
        /// Number of the memory.
        pool: u8,
        /// Its bytes.
        size: u64,
    },
    /// Instance; the file of its memory comes along.
    Input {
        /// Number of the instance.
        input: u16,
        /// Bytes of its memory.
        size: u64,
        /// Number of its queue pairs.
        pairs: u16,
    },
    /// Queue pair; the eventfds for offered and for judged packets come along.
    QueuePair {
        /// Worker, and number among its queues.
        id: (u16, u16),
        /// Number of the instance.
        input: u16,
        /// Number of the pair.
        pair: u16,
        /// Packets of a queue, and entries of the ring of empty buffers, as logarithms.
        log2: (u8, u8),
        /// Header, ring of offered packets, ring of judged ones, ring of empty buffers.
        places: [u32; 4],
    },
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Where the content begins, in a request and in a reply: aligned as the widest field.
const REQUEST_BODY: usize = 4;
const REPLY_BODY: usize = 8;

impl Request {
    /// Reads a request. The fault says why it is none.
    ///
    /// # Errors
    /// [`Fault::Message`] for other lengths and kinds, [`Fault::Mode`] for a mode that does not exist.
    pub fn parse(bytes: &[u8]) -> Result<Request, Fault> {
        let short = |at| array(bytes, REQUEST_BODY + at).map(u16::from_ne_bytes).ok_or(Fault::Message);
        let word = |at| array(bytes, REQUEST_BODY + at).map(u32::from_ne_bytes).ok_or(Fault::Message);
        if bytes.len() != REQUEST {
            return Err(Fault::Message);
        }
        Ok(match bytes[0] {
            1 => {
                let mode = word(8)?;
                let mode =
                    u8::try_from(mode).ok().filter(|mode| usize::from(*mode) < MODES.len()).ok_or(Fault::Mode)?;
                Request::Connect { version: word(0)?, threads: short(4)?, mode }
            }
            2 => Request::GetBufferPool(bytes[REQUEST_BODY]),
            3 => {
                let name: [u8; NAME] = array(bytes, REQUEST_BODY).ok_or(Fault::Message)?;
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                Request::GetInput(String::from_utf8(name.to_vec()).map_err(|_| Fault::Input)?)
            }
            4 => Request::AttachQueuePair { input: short(0)?, pair: short(2)? },
            _ => return Err(Fault::Message),
        })
    }
}

/// The packet for a reply to a request that begins with a byte.
pub fn write(kind: u8, reply: Result<Reply, Fault>) -> [u8; REPLY] {
    let mut bytes = [0; REPLY];
    bytes[0] = kind;
    let mut put = |at: usize, field: &[u8]| {
        if let Some(place) = bytes.get_mut(REPLY_BODY + at..REPLY_BODY + at + field.len()) {
            place.copy_from_slice(field);
        }
    };
    match reply {
        Err(fault) => bytes[1] = fault as u8,
        Ok(Reply::Connect { pools }) => put(0, &pools.to_ne_bytes()),
        Ok(Reply::BufferPool { pool, size }) => {
            put(0, &[pool]);
            put(8, &size.to_ne_bytes());
        }
        Ok(Reply::Input { input, size, pairs }) => {
            put(0, &input.to_ne_bytes());
            put(8, &size.to_ne_bytes());
            put(16, &pairs.to_ne_bytes());
        }
        Ok(Reply::QueuePair { id, input, pair, log2, places }) => {
            for (at, field) in [(0, id.0), (2, id.1), (4, input), (6, pair)] {
                put(at, &field.to_ne_bytes());
            }
            put(8, &[log2.0, log2.1]);
            for (at, place) in (12..).step_by(4).zip(places) {
                put(at, &place.to_ne_bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 0, 0];
        bytes.extend(body);
        bytes.resize(REQUEST, 0);
        bytes
    }

    #[test]
    fn requests_are_read_and_others_refused() {
        let connect = request(1, &[0, 3, 0, 3, 2, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(Request::parse(&connect), Ok(Request::Connect { version: 0x0300_0300, threads: 2, mode: 2 }));
        assert_eq!(Request::parse(&request(2, &[7])), Ok(Request::GetBufferPool(7)));
        assert_eq!(Request::parse(&request(3, b"ids\0x")), Ok(Request::GetInput("ids".into())));
        assert_eq!(Request::parse(&request(3, &[b'x'; 32])), Ok(Request::GetInput("x".repeat(32))));
        assert_eq!(Request::parse(&request(4, &[1, 0, 2, 0])), Ok(Request::AttachQueuePair { input: 1, pair: 2 }));
        assert_eq!(Request::parse(&request(1, &[0, 0, 0, 0, 0, 0, 0, 0, 4])), Err(Fault::Mode));
        assert_eq!(Request::parse(&request(3, &[0xff])), Err(Fault::Input));
        for wrong in [request(0, &[]), request(5, &[]), vec![], vec![1; 35], vec![1; 37]] {
            assert_eq!(Request::parse(&wrong), Err(Fault::Message), "{wrong:?}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        bolero::check!().for_each(|bytes: &[u8]| {
            let read = Request::parse(bytes);
            assert!(read.is_err() || bytes.len() == REQUEST);
        });
    }

    #[test]
    fn replies_have_the_places_of_the_protocol() {
        let fault = write(3, Err(Fault::Input));
        assert_eq!((fault[0], fault[1], &fault[2..]), (3, 6, &[0; 38][..]));
        let input = write(3, Ok(Reply::Input { input: 1, size: 0x0102_0304, pairs: 2 }));
        assert_eq!(input[..16], [3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(input[16..28], [4, 3, 2, 1, 0, 0, 0, 0, 2, 0, 0, 0]);
        let pair = Reply::QueuePair { id: (1, 2), input: 3, pair: 4, log2: (5, 6), places: [7, 8, 9, 10] };
        let pair = write(4, Ok(pair));
        assert_eq!(pair[8..20], [1, 0, 2, 0, 3, 0, 4, 0, 5, 6, 0, 0]);
        assert_eq!(pair[20..36], [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0]);
        assert_eq!(
            write(2, Ok(Reply::BufferPool { pool: 1, size: 2 }))[8..24],
            [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(write(1, Ok(Reply::Connect { pools: 258 }))[8..10], [2, 1]);
    }
}
