//! The master's side of the handshake: it greets, is told everything by the slave, and answers each message.

use crate::link::Offer;
use crate::message::{Hello, Init, Message, Mode, Secret, Text};
use crate::{LOG2_RING_SIZE_MAX, REGIONS_MAX, RINGS_MAX, Refusal, VERSION};

/// On which terms a slave may have an interface.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The mode of the interface: Ethernet, IP or punt.
    pub mode: Mode,
    /// The secret that the slave must send; [`Secret::NONE`] admits every slave.
    pub secret: Secret,
    /// Name of our interface, which the slave shows.
    pub interface: String,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    /// Our greeting is sent; the slave chooses.
    Greeted,
    /// It has an interface, and tells regions and rings.
    Telling(Mode),
    /// It has told everything; our user maps it.
    Mapping(Mode),
    /// Packets pass.
    Connected,
    Closed,
}

/// The next action of a [`Master`]'s user.
#[derive(Debug, PartialEq)]
pub enum Step<F> {
    /// Send this.
    Send(Message),
    /// Map the offer, then call [`Master::connected`] and send its result, or [`Master::refuse`].
    Map {
        /// The slave's offer.
        offer: Offer<F>,
        /// The mode of the interface.
        mode: Mode,
        /// The name of the slave's interface.
        interface: Text<32>,
    },
}

/// A control connection seen by the master. It does no I/O; `F` is whatever stands for a file.
pub struct Master<F> {
    state: State,
    offer: Offer<F>,
    /// Name of our interface.
    interface: Text<32>,
}

impl<F> Master<F> {
    /// A new connection, and the greeting to be sent on it.
    pub fn new(name: &str) -> (Master<F>, Message) {
        let hello = Hello {
            name: Text::new(name),
            min_version: VERSION.into(),
            max_version: VERSION.into(),
            max_region: (REGIONS_MAX as u16 - 1).into(),
            max_m2s_ring: (RINGS_MAX as u16 - 1).into(),
            max_s2m_ring: (RINGS_MAX as u16 - 1).into(),
            max_log2_ring_size: LOG2_RING_SIZE_MAX,
        };
        let master = Master { state: State::Greeted, offer: Offer::default(), interface: Text::new("") };
        (master, Message::Hello(hello))
    }
    /// Whether the slave has not said yet which interface it wants.
    pub fn awaits_init(&self) -> bool {
        self.state == State::Greeted
    }
    /// Takes a message and the file that came with it. `admit` is asked which terms hold for the slave's INIT, and
    /// takes the interface for this connection. On an error send [`Master::refuse`]'s message, and close.
    pub fn received(
        &mut self,
        message: &Message,
        file: Option<F>,
        admit: impl FnOnce(&Init) -> Result<Terms, Refusal>,
    ) -> Result<Step<F>, Refusal> {
        match (self.state, message) {
            (_, Message::Disconnect(end)) => Err(Refusal::ByPeer(end.reason.to_string())),
            (State::Greeted, Message::Init(init)) => {
                let Terms { mode, interface, .. } = check(init, admit)?;
                self.interface = Text::new(&interface);
                self.state = State::Telling(mode);
                Ok(Step::Send(Message::Ack))
            }
            (State::Telling(_), Message::AddRegion(region)) => {
                self.offer.add_region(region.index.get(), region.size.get(), file)?;
                Ok(Step::Send(Message::Ack))
            }
            (State::Telling(_), Message::AddRing(ring)) => {
                self.offer.add_ring(ring, file)?;
                Ok(Step::Send(Message::Ack))
            }
            (State::Telling(mode), Message::Connect(interface)) => {
                if self.offer.s2m.is_empty() && self.offer.m2s.is_empty() {
                    return Err(Refusal::NoRings);
                }
                self.state = State::Mapping(mode);
                Ok(Step::Map { offer: std::mem::take(&mut self.offer), mode, interface: *interface })
            }
            (_, message) => Err(Refusal::Unexpected(message.name())),
        }
    }
    /// Returns the message to send once the offered memory is mapped and packets may pass. None unless [`Step::Map`]
    /// came before.
    pub fn connected(&mut self) -> Option<Message> {
        matches!(self.state, State::Mapping(_)).then(|| {
            self.state = State::Connected;
            Message::Connected(self.interface)
        })
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

fn check(init: &Init, admit: impl FnOnce(&Init) -> Result<Terms, Refusal>) -> Result<Terms, Refusal> {
    if init.version.get() != VERSION {
        return Err(Refusal::Version);
    }
    let terms = admit(init)?;
    if init.mode() != Some(terms.mode) {
        return Err(Refusal::Mode);
    }
    match (terms.secret.is_none(), init.secret.is_none()) {
        (false, true) => Err(Refusal::SecretRequired),
        (false, false) if !init.secret.matches(&terms.secret) => Err(Refusal::SecretWrong),
        _ => Ok(terms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::RingOffer;
    use crate::message::{AddRegion, AddRing};

    fn terms(secret: &str) -> Terms {
        let secret = if secret.is_empty() { Secret::NONE } else { Secret::new(secret).expect("short enough") };
        Terms { mode: Mode::Ethernet, secret, interface: "memif1/1".into() }
    }
    fn init(mode: Mode, secret: &str) -> Message {
        let Terms { secret, .. } = terms(secret);
        Message::Init(Init::new(1, mode, secret, "peer"))
    }
    fn region(index: u16) -> Message {
        Message::AddRegion(AddRegion { index: index.into(), size: 4096.into() })
    }
    /// The master's answers to these messages, each of which comes with a file.
    fn talk(messages: &[Message]) -> Result<Step<()>, Refusal> {
        let (mut master, _) = Master::new("quiver");
        let mut last = Ok(Step::Send(Message::Ack));
        for message in messages {
            last = Ok(master.received(message, Some(()), |_| Ok(terms("")))?);
        }
        last
    }

    #[test]
    fn a_slave_is_let_in_step_by_step() {
        let ring = AddRing::new(true, 0, 0, 0, 4);
        let told = [init(Mode::Ethernet, ""), region(0), Message::AddRing(ring), Message::Connect(Text::new("m"))];
        for n in 1..4 {
            assert_eq!(talk(&told[..n]), Ok(Step::Send(Message::Ack)));
        }
        let Ok(Step::Map { offer, mode, interface }) = talk(&told) else { panic!("it must be mapped") };
        assert_eq!((mode, interface.to_string(), offer.regions.len()), (Mode::Ethernet, "m".into(), 1));
        assert_eq!(offer.s2m, [RingOffer { region: 0, offset: 0, log2_size: 4, interrupt: () }]);
    }

    #[test]
    fn what_is_out_of_order_is_refused() {
        let first = init(Mode::Ethernet, "");
        let ring = |index, region, offset, log2| Message::AddRing(AddRing::new(false, index, region, offset, log2));
        let cases: [(&[Message], Refusal); 10] = [
            (&[region(0)], Refusal::Unexpected("ADD_REGION")),
            (&[first, first], Refusal::Unexpected("INIT")),
            (&[first, region(1)], Refusal::RegionIndex),
            (&[first, ring(0, 0, 0, 4)], Refusal::RegionIndex),
            (&[first, region(0), ring(1, 0, 0, 4)], Refusal::RingIndex),
            (&[first, region(0), ring(0, 0, 4096 - 256, 4)], Refusal::Ring),
            (&[first, region(0), ring(0, 0, 8, 4)], Refusal::Ring),
            (&[first, region(0), ring(0, 0, 0, 15)], Refusal::Ring),
            (&[first, region(0), Message::Connect(Text::new(""))], Refusal::NoRings),
            (&[first, Message::disconnect("enough")], Refusal::ByPeer("enough".into())),
        ];
        for (messages, refusal) in cases {
            assert_eq!(talk(messages), Err(refusal));
        }
    }

    #[test]
    fn modes_and_secrets_are_checked() {
        let with = |message: Message, terms: Result<Terms, Refusal>| {
            Master::<()>::new("quiver").0.received(&message, None, |_| terms)
        };
        assert_eq!(with(init(Mode::Ip, ""), Ok(terms(""))), Err(Refusal::Mode));
        assert_eq!(with(init(Mode::Ethernet, ""), Ok(terms("s"))), Err(Refusal::SecretRequired));
        assert_eq!(with(init(Mode::Ethernet, "t"), Ok(terms("s"))), Err(Refusal::SecretWrong));
        assert_eq!(with(init(Mode::Ethernet, "s"), Ok(terms("s"))), Ok(Step::Send(Message::Ack)));
        assert_eq!(with(init(Mode::Ethernet, "s"), Ok(terms(""))), Ok(Step::Send(Message::Ack)));
        assert_eq!(with(init(Mode::Ethernet, ""), Err(Refusal::UnknownId)), Err(Refusal::UnknownId));
    }
}
