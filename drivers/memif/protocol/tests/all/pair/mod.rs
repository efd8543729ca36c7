//! A master and a slave of one process that have come to terms.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::os::fd::OwnedFd;
use std::sync::Arc;

use quiver_memif_protocol::{
    Channel, Established, Handshake, Link, Mode, Progress, Receiver, Refusal, Request, Secret, Storage, Terms,
    Transmitter,
};

/// One end.
pub struct End {
    /// Keeps the memory.
    pub link: Link<Arc<OwnedFd>>,
    /// Its receiving ends.
    pub rx: Vec<Receiver>,
    /// Its sending ends.
    pub tx: Vec<Transmitter>,
}

/// Both.
pub struct Pair {
    pub master: End,
    pub slave: End,
}

/// Master and slave with so many rings of this size in each direction.
pub fn pair(s2m_rings: u16, m2s_rings: u16, log2_ring_size: u8, buffer: u32) -> Pair {
    let (at_master, at_slave) = Channel::pair().expect("sockets");
    let request = Request {
        id: 0,
        mode: Mode::Ethernet,
        secret: Secret::NONE,
        name: "test".into(),
        interface: "slave".into(),
        s2m_rings,
        m2s_rings,
        log2_ring_size,
    };
    let mut master = Handshake::master(at_master, "test").expect("greeted");
    let mut slave = Handshake::slave(at_slave, request, Storage { buffer, shared: None });
    let (mut at_master, mut at_slave) = (None, None);
    while at_slave.is_none() {
        at_slave = established(&mut slave, Err(Refusal::UnknownId));
        // The last word is the master's.
        if at_master.is_none() {
            let terms = Terms { mode: Mode::Ethernet, secret: Secret::NONE, interface: "master".into() };
            at_master = established(&mut master, Ok(terms));
        }
    }
    let [master, mut slave] = [at_master, at_slave].map(|end| {
        let Established { link, layout, .. } = end.expect("both are connected");
        End { rx: link.receivers(layout.as_ref()), tx: link.transmitters(layout.as_ref()), link }
    });
    slave.rx.iter_mut().for_each(Receiver::start);
    Pair { master, slave }
}

/// The result of the next message.
fn established(end: &mut Handshake, terms: Result<Terms, Refusal>) -> Option<Established> {
    match end.advance(|_| terms).expect("in order") {
        Progress::Established(established) => Some(*established),
        Progress::Answered => None,
        Progress::Quiet => panic!("nothing is said, and nobody is connected"),
    }
}
