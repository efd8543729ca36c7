//! A master and a slave of one process that have come to terms.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use quiver_memif_protocol::layout::SlaveMemory;
use quiver_memif_protocol::master::Step as MasterStep;
use quiver_memif_protocol::slave::Step as SlaveStep;
use quiver_memif_protocol::{Channel, Link, Master, Mode, Receiver, Request, Secret, Slave, Terms, Transmitter};

/// One end.
pub struct End {
    /// Keeps the memory.
    #[allow(dead_code, reason = "not every test looks at it")]
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
    let (mut master, hello) = Master::<OwnedFd>::new("test");
    let mut slave = Slave::<Arc<OwnedFd>>::new(request);
    at_master.send(&hello, None).expect("sent");
    let (mut memory, mut link) = (None, None);
    loop {
        let (message, _) = at_slave.receive().expect("a message").expect("one came");
        let mut step = slave.received(&message).expect("in order");
        if let SlaveStep::Make(agreed) = step {
            let made = SlaveMemory::make(&agreed, Some(buffer), Mode::Ethernet, vec![]).expect("memory");
            step = slave.offer(&made.offer);
            memory = Some(made);
        }
        match step {
            SlaveStep::Send(message, file) => {
                at_slave.send(&message, file.as_ref().map(|file| file.as_fd())).expect("sent");
            }
            SlaveStep::Connected(_) => break,
            other => panic!("{other:?}"),
        }
        let (message, file) = at_master.receive().expect("a message").expect("one came");
        let terms = Terms { mode: Mode::Ethernet, secret: Secret::NONE };
        let answer = match master.received(&message, file, |_| Ok(terms)).expect("in order") {
            MasterStep::Send(answer) => answer,
            MasterStep::Map { offer, mode, .. } => {
                link = Some(Link::map(offer, mode).expect("mapped"));
                master.connected("master").expect("mapped")
            }
        };
        at_master.send(&answer, None).expect("sent");
    }
    let (memory, link) = (memory.expect("made"), link.expect("mapped").shared());
    let master = End { rx: link.receivers(None), tx: link.transmitters(None), link };
    let layout = Some(&memory.layout);
    let (rx, tx) = (memory.link.receivers(layout), memory.link.transmitters(layout));
    let mut slave = End { rx, tx, link: memory.link };
    slave.rx.iter_mut().for_each(Receiver::start);
    Pair { master, slave }
}
