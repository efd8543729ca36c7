//! What is punted: protocols and ports.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_engine::{Domain, Publisher, Snapshot};
use quiver_wire::{IpProtocol, V4, V6};

use crate::Punted;
use crate::reason::Reason;
use crate::sockets::is_programs;

/// Packets for us that are punted: of a protocol that Quiver does not speak, or to a port on which it does not listen.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::PUNTS)]
pub struct Punt<F: Punted> {
    /// The number of the protocol: 17 is UDP.
    #[key]
    pub protocol: u8,
    /// The port that packets of UDP or TCP are for; 0 stands for all ports, and for protocols without ports.
    #[key]
    #[default(0)]
    pub port: u16,
    /// The path of a program's datagram socket that has them, as whole frames; without one they go where the punt redirect
    /// of their interface sends them.
    pub socket: Option<String>,
    /// Protocols of the same number of two families are two.
    pub family: PhantomData<F>,
}

/// Who takes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// The feature arc of punted packets.
    Arc,
    /// A program.
    Socket,
}

impl Taker {
    /// Who takes what is configured with or without the path of a socket.
    pub(crate) fn of(socket: Option<&str>) -> Taker {
        if socket.is_some() { Taker::Socket } else { Taker::Arc }
    }
}

/// What is taken.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// By protocol and port.
    pub configured: BTreeMap<(u8, u16), Taker>,
    /// By the reason why nobody takes it otherwise.
    pub reasons: BTreeMap<Reason, Taker>,
    /// Whether packets of all protocols are punted that nobody speaks.
    pub unspoken: bool,
}

quiver_control::choice! {
    /// What becomes of packets for us of protocols that nobody speaks.
    pub enum Unspoken {
        /// Their senders are told (RFC 1122, 3.2.2.1; RFC 8200, 4).
        Tell = "tell",
        /// They are punted, so that senders are told nothing.
        Punt = "punt",
    } as "unspoken", "tell or punt";
}

/// Sets what becomes of packets for us of protocols that nobody speaks, for both families.
pub fn set_unspoken(control: &Control, unspoken: Unspoken) {
    let punted = unspoken == Unspoken::Punt;
    let set = |taken: &Taken| Taken { unspoken: punted, ..taken.clone() };
    control.room_mut::<Punts<V4>>().update(set);
    control.room_mut::<Punts<V6>>().update(set);
}

/// What is taken, for workers.
pub(crate) struct Punts<F: Punted> {
    taken: Publisher<Taken>,
    /// Protocols and ports in the order in which they were configured.
    order: Vec<(u8, u16)>,
    family: PhantomData<F>,
}

impl<F: Punted> Punts<F> {
    pub fn new(domain: &Domain) -> Punts<F> {
        Punts { taken: Publisher::new(domain, Taken::default()), order: vec![], family: PhantomData }
    }
    pub fn taken(&self) -> Snapshot<Taken> {
        self.taken.snapshot()
    }
    /// Publishes what becomes of it.
    pub fn update(&mut self, change: impl FnOnce(&Taken) -> Taken) {
        self.taken.update(change);
    }
    /// Protocols and ports in the order in which they were configured.
    pub fn order(&self) -> &[(u8, u16)] {
        &self.order
    }
    /// The same, as it was published last.
    pub fn current(&self) -> &Taken {
        self.taken.current()
    }
}

/// Bytes of a path of a socket (unix(7)), with the zero behind it.
const PATH_MAX: usize = 108;

/// What holds of a punt whatever else is configured.
pub(crate) fn check<F: Punted>(punt: &Punt<F>) -> Result<(), ObjectError> {
    let protocol = IpProtocol(punt.protocol);
    if punt.port != 0 && protocol != IpProtocol::UDP && protocol != IpProtocol::TCP {
        let what = format!("protocol {} has no ports", punt.protocol);
        return Err(ObjectError::field("port", what).remedy("leave it out, or name protocol 17 (UDP) or 6 (TCP)"));
    }
    check_socket(punt.socket.as_deref())
}

/// What holds of the path of a socket.
pub(crate) fn check_socket(socket: Option<&str>) -> Result<(), ObjectError> {
    match socket {
        Some(path) if path.is_empty() || path.len() >= PATH_MAX || path.contains('\0') => {
            let what = format!("a path has 1 to {} bytes, none of them zero", PATH_MAX - 1);
            Err(ObjectError::field("socket", what).remedy("choose another one, such as /run/routing.sock"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn apply<F: Punted>(control: &Control, change: Change<'_, Punt<F>>) -> Result<(), ObjectError> {
    let (punt, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    if is_wanted {
        is_programs(control, punt.socket.as_deref())?;
    }
    let (key, taker) = ((punt.protocol, punt.port), Taker::of(punt.socket.as_deref()));
    let mut punts = control.room_mut::<Punts<F>>();
    if !is_wanted {
        punts.order.retain(|other| *other != key);
    } else if !punts.order.contains(&key) {
        punts.order.push(key);
    }
    punts.update(|taken| {
        let mut taken = taken.clone();
        match is_wanted {
            true => taken.configured.insert(key, taker),
            false => taken.configured.remove(&key),
        };
        taken
    });
    Ok(())
}
