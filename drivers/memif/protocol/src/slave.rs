//! The slave's side of the handshake: it answers the greeting, offers memory and rings one by one, each after the
//! answer to the one before, and is connected when the master says so.

use std::collections::VecDeque;

use crate::link::Offer;
use crate::message::{AddRegion, AddRing, Hello, Init, Message, Mode, Secret, Text};
use crate::{LOG2_RING_SIZE_MAX, RINGS_MAX, Refusal, VERSION};

/// A slave's request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The interface's number on the socket.
    pub id: u32,
    /// The mode of the interface.
    pub mode: Mode,
    /// The secret that the master may require.
    pub secret: Secret,
    /// Our name.
    pub name: String,
    /// The name of our interface.
    pub interface: String,
    /// Rings from us to the master.
    pub s2m_rings: u16,
    /// Rings from the master to us.
    pub m2s_rings: u16,
    /// Descriptors of each, as a power of two.
    pub log2_ring_size: u8,
}

/// The parameters that both master and slave support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Rings from us to the master.
    pub s2m_rings: u16,
    /// Rings from the master to us.
    pub m2s_rings: u16,
    /// Descriptors of each, as a power of two.
    pub log2_ring_size: u8,
    /// The highest index of a region.
    pub max_region: u16,
    /// Name of the master.
    pub master: Text<32>,
}

#[derive(PartialEq, Debug)]
enum State {
    /// The master has not greeted yet.
    Waiting,
    /// Our user makes memory and rings.
    Making,
    /// We tell them.
    Telling,
    /// Everything is told.
    Asking,
    Connected,
    Closed,
}

/// The next action of a [`Slave`]'s user.
#[derive(Debug, PartialEq)]
pub enum Step<F> {
    /// Nothing.
    Wait,
    /// Send this, with the file.
    Send(Message, Option<F>),
    /// Make memory and rings, call [`Slave::offer`], and send its result.
    Make(Agreed),
    /// Packets may pass. The name of the master's interface.
    Connected(Text<32>),
}

/// A control connection seen by the slave. It does no I/O; `F` is whatever stands for a file.
pub struct Slave<F> {
    request: Request,
    state: State,
    to_tell: VecDeque<(Message, Option<F>)>,
}

impl<F: Clone> Slave<F> {
    /// A connection that was made for this request.
    pub fn new(request: Request) -> Slave<F> {
        Slave { request, state: State::Waiting, to_tell: VecDeque::new() }
    }
    /// The mode of the interface.
    pub fn mode(&self) -> Mode {
        self.request.mode
    }
    /// Takes a message. On an error send [`Slave::refuse`]'s message, and close.
    pub fn received(&mut self, message: &Message) -> Result<Step<F>, Refusal> {
        match (&self.state, message) {
            (_, Message::Disconnect(end)) => Err(Refusal::ByPeer(end.reason.to_string())),
            (State::Waiting, Message::Hello(hello)) => {
                let agreed = self.agree(hello)?;
                self.state = State::Making;
                Ok(Step::Make(agreed))
            }
            (State::Telling, Message::Ack) => Ok(self.tell()),
            // CONNECT is answered by CONNECTED; an answer before that says nothing.
            (State::Asking, Message::Ack) => Ok(Step::Wait),
            (State::Asking, Message::Connected(interface)) => {
                self.state = State::Connected;
                Ok(Step::Connected(*interface))
            }
            (_, message) => Err(Refusal::Unexpected(message.name())),
        }
    }
    fn agree(&self, hello: &Hello) -> Result<Agreed, Refusal> {
        if hello.min_version.get() > VERSION || hello.max_version.get() < VERSION {
            return Err(Refusal::Version);
        }
        let rings = |wanted: u16, max: u16| wanted.min(max.saturating_add(1)).min(RINGS_MAX as u16);
        let Request { s2m_rings, m2s_rings, log2_ring_size, .. } = self.request;
        Ok(Agreed {
            s2m_rings: rings(s2m_rings, hello.max_s2m_ring.get()),
            m2s_rings: rings(m2s_rings, hello.max_m2s_ring.get()),
            log2_ring_size: log2_ring_size.min(hello.max_log2_ring_size).min(LOG2_RING_SIZE_MAX),
            max_region: hello.max_region.get(),
            master: hello.name,
        })
    }
    /// Memory and rings are made: returns the first message to send. Called after [`Step::Make`].
    pub fn offer(&mut self, offer: &Offer<F>) -> Step<F> {
        let Request { id, mode, secret, name, interface, .. } = &self.request;
        self.to_tell.push_back((Message::Init(Init::new(*id, *mode, *secret, name)), None));
        for (index, (file, size)) in offer.regions.iter().enumerate() {
            let region = AddRegion { index: (index as u16).into(), size: (*size).into() };
            self.to_tell.push_back((Message::AddRegion(region), Some(file.clone())));
        }
        for (is_s2m, rings) in [(true, &offer.s2m), (false, &offer.m2s)] {
            for (index, ring) in rings.iter().enumerate() {
                let told = AddRing::new(is_s2m, index as u16, ring.region, ring.offset, ring.log2_size);
                self.to_tell.push_back((Message::AddRing(told), Some(ring.interrupt.clone())));
            }
        }
        self.to_tell.push_back((Message::Connect(Text::new(interface)), None));
        self.state = State::Telling;
        self.tell()
    }
    fn tell(&mut self) -> Step<F> {
        let Some((message, file)) = self.to_tell.pop_front() else { return Step::Wait };
        if self.to_tell.is_empty() {
            self.state = State::Asking;
        }
        Step::Send(message, file)
    }
    /// Whether packets may pass.
    pub fn is_connected(&self) -> bool {
        self.state == State::Connected
    }
    /// The last message before closing.
    pub fn refuse(&mut self, refusal: &Refusal) -> Message {
        self.state = State::Closed;
        Message::disconnect(&refusal.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::RingOffer;
    use crate::master::{self, Master, Terms};

    fn request() -> Request {
        Request {
            id: 3,
            mode: Mode::Ethernet,
            secret: Secret::NONE,
            name: "slave".into(),
            interface: "memif0/3".into(),
            s2m_rings: 2,
            m2s_rings: 300,
            log2_ring_size: 16,
        }
    }
    fn offer(agreed: &Agreed) -> Offer<u32> {
        let ring = |index: u16| RingOffer { region: 0, offset: u32::from(index) * 512, log2_size: 4, interrupt: 9 };
        Offer {
            regions: vec![(7, 1 << 20), (8, 64)],
            s2m: (0..agreed.s2m_rings).map(ring).collect(),
            m2s: (0..agreed.m2s_rings).map(ring).collect(),
        }
    }

    #[test]
    fn both_roles_come_to_terms() {
        let (mut master, hello) = Master::<u32>::new("master");
        let mut slave = Slave::<u32>::new(request());
        let Ok(Step::Make(agreed)) = slave.received(&hello) else { panic!("a greeting is answered") };
        assert_eq!((agreed.s2m_rings, agreed.m2s_rings, agreed.log2_ring_size), (2, 256, 14));
        let mut step = slave.offer(&offer(&agreed));
        loop {
            let Step::Send(message, file) = step else { panic!("{step:?} before everything is told") };
            assert!(!slave.is_connected());
            let terms = Terms { mode: Mode::Ethernet, secret: Secret::NONE, interface: "memif1/3".into() };
            let answer = master.received(&message, file, |_| Ok(terms));
            step = match answer.expect("everything is in order") {
                master::Step::Send(answer) => slave.received(&answer).expect("it is an answer"),
                master::Step::Map { offer: told, .. } => {
                    assert_eq!(told, offer(&agreed));
                    break;
                }
            }
        }
        let connected = master.connected().expect("it was mapped");
        assert_eq!(slave.received(&connected), Ok(Step::Connected(Text::new("memif1/3"))));
        assert!(master.is_connected() && slave.is_connected());
    }

    #[test]
    fn other_versions_and_answers_out_of_order_are_refused() {
        let (_, hello) = Master::<u32>::new("master");
        let Message::Hello(hello) = hello else { unreachable!("a master greets") };
        let mut slave = Slave::<u32>::new(request());
        assert_eq!(slave.received(&Message::Ack), Err(Refusal::Unexpected("ACK")));
        let newer = Hello { min_version: 0x0300.into(), max_version: 0x0300.into(), ..hello };
        assert_eq!(slave.received(&Message::Hello(newer)), Err(Refusal::Version));
        assert!(slave.received(&Message::Hello(hello)).is_ok());
        assert_eq!(slave.received(&Message::Connected(Text::new(""))), Err(Refusal::Unexpected("CONNECTED")));
        assert_eq!(slave.received(&Message::disconnect("no")), Err(Refusal::ByPeer("no".into())));
    }
}
