//! The objects: sockets that masters listen on and slaves connect to, and interfaces.

use std::path::Path;

use quiver_control::{Object, ObjectError};
use quiver_interface::{check_name, number_in};
use quiver_memif_protocol::layout::BUFFER_MAX;
use quiver_memif_protocol::{Address, LOG2_RING_SIZE_MAX, Mode, RINGS_MAX, Role, Secret};
use quiver_wire::UnicastMac;

quiver_control::reference! {
    /// The number of a memif socket.
    pub struct MemifSocketId(u32) in "memif-sockets";
}

quiver_control::choice! {
    /// Which end of a memif interface we are.
    pub enum MemifRole of Role {
        /// Listens.
        Master = "master",
        /// Connects, and owns the memory.
        Slave = "slave",
    } as "memif-role", "master or slave";
}

quiver_control::choice! {
    /// Kind of packets that a memif interface carries.
    pub enum MemifMode of Mode {
        /// Ethernet frames.
        Ethernet = "ethernet",
        /// IP packets.
        Ip = "ip",
        /// Frames from and to a peer that injects and punts.
        Punt = "punt",
    } as "memif-mode", "ethernet, ip or punt";
}

quiver_control::number! {
    /// Number of a memif interface's rings in one direction.
    pub struct MemifQueues(u16) in 1..=256 as "memif-queues";
}
const _: () = assert!(MemifQueues::MAX.get() as usize == RINGS_MAX);

/// Socket on which memif masters listen and to which slaves connect.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "memif-sockets")]
pub struct MemifSocket {
    /// Socket id. Socket 0 always exists: memif.sock in the runtime folder, /run/quiver or --runtime-dir.
    #[key]
    pub id: u32,
    /// Path, absolute or relative to the runtime folder, or an abstract name: abstract:NAME or @NAME, with an
    /// optional suffix ,netns_name=NAMESPACE.
    #[fixed]
    pub filename: String,
}

/// Memif interface: packets through memory shared with another process.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "memifs", provides = "interface")]
pub struct Memif {
    /// Name: memif, the socket id, a slash, and the interface's id, such as memif0/7; or one that you choose, such as wan.
    #[key]
    pub name: String,
    /// Id that master and slave agree on. Default: the number at the end of the name.
    #[fixed]
    pub id: Option<u32>,
    /// Id of the socket. Default: 0.
    #[fixed]
    pub socket: Option<MemifSocketId>,
    /// Role of this end: master or slave.
    #[fixed]
    #[default(MemifRole::Slave)]
    pub role: MemifRole,
    /// Kind of packets: Ethernet, IP or punt.
    #[fixed]
    #[default(MemifMode::Ethernet)]
    pub mode: MemifMode,
    /// Descriptors per ring, a power of two up to 16384. The slave decides.
    #[fixed]
    #[default(1024)]
    pub ring_size: u32,
    /// Number of receive queues, which different workers may poll. A slave creates as many rings; a master spreads
    /// the slave's rings over them.
    #[fixed]
    #[default(MemifQueues::MIN)]
    pub rx_queues: MemifQueues,
    /// Number of transmit rings that a slave creates. Default: one per worker.
    #[fixed]
    pub tx_queues: Option<MemifQueues>,
    /// Size of a slave's buffers in bytes. Longer packets take several.
    #[fixed]
    #[default(2048)]
    pub buffer_size: u32,
    /// Whether a slave shares its packet buffers with the master without copies, where they can be shared.
    #[fixed]
    #[default(true)]
    pub zero_copy: bool,
    /// Secret that the slave must present, at most 23 characters.
    #[fixed]
    #[secret]
    pub secret: Option<String>,
    /// MAC address of the interface. Default: a generated one.
    #[fixed]
    pub mac: Option<UnicastMac>,
}

/// The default socket, and its name in the daemon's folder.
pub(crate) const DEFAULT_SOCKET: u32 = 0;
const DEFAULT_NAME: &str = "memif.sock";
/// The daemon's folder, unless its host sets another.
pub(crate) const DEFAULT_FOLDER: &str = "/run/quiver";

impl Memif {
    /// The interface of this number on a socket.
    pub fn of(socket: u32, number: u32) -> Memif {
        let mut memif = Memif::new(format!("memif{socket}/{number}"));
        memif.socket = (socket != DEFAULT_SOCKET).then_some(MemifSocketId(socket));
        memif
    }
    /// The socket's number.
    pub fn socket(&self) -> u32 {
        self.socket.as_ref().map_or(DEFAULT_SOCKET, |socket| socket.0)
    }
    /// The number that both ends agree on. None if neither the name nor the object has one.
    pub fn number(&self) -> Option<u32> {
        self.id.or_else(|| self.named())
    }
    /// The number in a name of this socket.
    fn named(&self) -> Option<u32> {
        number_in(&self.name, &format!("memif{}/", self.socket()))
    }
    pub(crate) fn role(&self) -> Role {
        self.role.into()
    }
    pub(crate) fn mode(&self) -> Mode {
        self.mode.into()
    }
    pub(crate) fn log2_ring_size(&self) -> u8 {
        self.ring_size.trailing_zeros() as u8
    }
    /// The secret; it was checked.
    pub(crate) fn secret(&self) -> Secret {
        self.secret.as_deref().and_then(|secret| Secret::new(secret).ok()).unwrap_or(Secret::NONE)
    }
}

/// The address of the default socket in the daemon's folder.
pub(crate) fn default_address(folder: &Path) -> Address {
    Address::Path(folder.join(DEFAULT_NAME))
}

/// The address that a name means; a relative path stays relative.
pub(crate) fn parse_address(filename: &str) -> Result<Address, ObjectError> {
    filename.parse().map_err(|error: quiver_memif_protocol::address::AddressError| {
        ObjectError::field("filename", error.to_string())
            .remedy("/run/quiver/memif1.sock or abstract:NAME, for instance")
    })
}

pub(crate) fn check_socket(socket: &MemifSocket) -> Result<(), ObjectError> {
    if socket.id == DEFAULT_SOCKET {
        let what = format!("socket {DEFAULT_SOCKET} is there always, at {DEFAULT_NAME} in the daemon's folder");
        return Err(ObjectError::field("id", what).remedy("choose another number"));
    }
    parse_address(&socket.filename).map(drop)
}

/// Checks a memif interface that needs no other object.
pub(crate) fn check(memif: &Memif) -> Result<(), ObjectError> {
    let wrong = |field, what: String, remedy: String| Err(ObjectError::field(field, what).remedy(remedy));
    let example = format!("memif{}/0", memif.socket());
    match (memif.id, memif.named()) {
        (None, None) if check_name(&memif.name, &example).is_ok() => {
            return wrong("id", format!("{} has no id", memif.name), "set the id that the peer has".into());
        }
        (None, None) => {
            let what = format!("'{}' is no name of a memif interface on socket {}", memif.name, memif.socket());
            let remedy =
                format!("memif{}/ and a number, such as {example}; or a chosen name, with an id", memif.socket());
            return wrong("name", what, remedy);
        }
        (Some(id), Some(named)) if id != named => {
            let what = format!("{} has the id {named}, not {id}", memif.name);
            return wrong("id", what, "leave it out, or choose another name".into());
        }
        (Some(_), None) => check_name(&memif.name, &example)?,
        (_, Some(_)) => {}
    }
    if !memif.ring_size.is_power_of_two() || memif.log2_ring_size() > LOG2_RING_SIZE_MAX {
        let what = format!("rings of {} descriptors are not possible", memif.ring_size);
        return wrong("ring-size", what, format!("a power of two up to {}", 1 << LOG2_RING_SIZE_MAX));
    }
    if !(64..=BUFFER_MAX).contains(&memif.buffer_size) {
        let what = format!("buffers of {} bytes are not possible", memif.buffer_size);
        return wrong("buffer-size", what, format!("64 to {BUFFER_MAX}"));
    }
    if let Some(Err(error)) = memif.secret.as_deref().map(Secret::new) {
        return wrong("secret", error.to_string(), "take a shorter one, or leave it out".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_are_named_with_what_would_be_right() {
        let memif = || Memif::of(3, 7);
        assert_eq!((check(&memif()), memif().name.as_str(), memif().number()), (Ok(()), "memif3/7", Some(7)));
        assert_eq!(check(&Memif::of(0, 0)), Ok(()));
        let chosen = |name: &str, id| Memif { name: name.into(), id, ..memif() };
        for (right, number) in [(chosen("wan", Some(9)), 9), (chosen("memif3/7", Some(7)), 7)] {
            assert_eq!((check(&right), right.number()), (Ok(()), Some(number)), "{right:?}");
        }
        let wrong = [
            chosen("wan", None),
            chosen("w/1", Some(1)),
            chosen("memif3/7", Some(8)),
            Memif { name: "memif0/7".into(), ..memif() },
            Memif { name: "memif3/07".into(), ..memif() },
            Memif { name: "memif3".into(), ..memif() },
            Memif { ring_size: 1000, ..memif() },
            Memif { ring_size: 1 << 15, ..memif() },
            Memif { ring_size: 0, ..memif() },
            Memif { buffer_size: 63, ..memif() },
            Memif { secret: Some("a secret that is too long".into()), ..memif() },
        ];
        for memif in wrong {
            let error = check(&memif).expect_err("it is wrong");
            assert!(!error.field.is_empty() && !error.remedy.is_empty(), "{error}");
        }
        assert!(check_socket(&MemifSocket { id: 0, filename: "/x".into() }).is_err());
        assert!(check_socket(&MemifSocket { id: 1, filename: "@".into() }).is_err());
    }
}
