//! Why a packet's sender is to be told by ICMP: what nodes put into the `hop` column before `icmp4-error` and `icmp6-error`.

/// A reason, and what is to be said with it, in one word of the `hop` column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub u32);

/// A reason without what is to be said with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultKind {
    /// There is no route (RFC 1812, 4.3.3.1; RFC 4443, 3.1).
    Network = 0,
    /// The neighbour does not answer, or a route says so.
    Host,
    /// We do not speak the protocol.
    Protocol,
    /// Nobody listens on the port.
    Port,
    /// A route says so (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
    Prohibited,
    /// The hops ran out (RFC 1812, 5.3.1; RFC 8200, 3).
    TimeExceeded,
    /// The packet is longer than the next link takes, and must not be fragmented (RFC 1191, 4; RFC 4443, 3.2).
    TooBig,
    /// The sender's address means nothing on the next link (RFC 4443, 3.1).
    BeyondScope,
    /// A part of the packet is not understood (RFC 4443, 3.4).
    Parameter,
    /// Not all fragments have come in time (RFC 792; RFC 4443, 3.3).
    Reassembly,
}

impl FaultKind {
    const ALL: [FaultKind; 10] = [
        FaultKind::Network,
        FaultKind::Host,
        FaultKind::Protocol,
        FaultKind::Port,
        FaultKind::Prohibited,
        FaultKind::TimeExceeded,
        FaultKind::TooBig,
        FaultKind::BeyondScope,
        FaultKind::Parameter,
        FaultKind::Reassembly,
    ];
}

impl Fault {
    /// [`FaultKind::Network`].
    pub const NETWORK: Fault = Fault::new(FaultKind::Network, 0, 0);
    /// [`FaultKind::Host`].
    pub const HOST: Fault = Fault::new(FaultKind::Host, 0, 0);
    /// [`FaultKind::Protocol`].
    pub const PROTOCOL: Fault = Fault::new(FaultKind::Protocol, 0, 0);
    /// [`FaultKind::Port`].
    pub const PORT: Fault = Fault::new(FaultKind::Port, 0, 0);
    /// [`FaultKind::Prohibited`].
    pub const PROHIBITED: Fault = Fault::new(FaultKind::Prohibited, 0, 0);
    /// [`FaultKind::TimeExceeded`].
    pub const TIME_EXCEEDED: Fault = Fault::new(FaultKind::TimeExceeded, 0, 0);
    /// [`FaultKind::BeyondScope`].
    pub const BEYOND_SCOPE: Fault = Fault::new(FaultKind::BeyondScope, 0, 0);

    /// [`FaultKind::Reassembly`].
    pub const REASSEMBLY: Fault = Fault::new(FaultKind::Reassembly, 0, 0);

    const fn new(kind: FaultKind, code: u8, word: u16) -> Fault {
        Fault((kind as u32) << 24 | (code as u32) << 16 | word as u32)
    }
    /// [`FaultKind::TooBig`], where the next link takes so many bytes.
    pub const fn too_big(mtu: u16) -> Fault {
        Fault::new(FaultKind::TooBig, 0, mtu)
    }
    /// [`FaultKind::Protocol`], said by the field there, from the IP header on.
    pub fn protocol(pointer: usize) -> Fault {
        Fault::new(FaultKind::Protocol, 0, pointer as u16)
    }
    /// [`FaultKind::Parameter`] with its code, and where it lies from the IP header on.
    pub fn parameter(code: u8, pointer: usize) -> Fault {
        Fault::new(FaultKind::Parameter, code, pointer as u16)
    }
    /// The reason.
    pub fn kind(self) -> FaultKind {
        FaultKind::ALL[(self.0 >> 24) as usize % FaultKind::ALL.len()]
    }
    /// The code, as given to [`Fault::parameter`].
    pub fn code(self) -> u8 {
        (self.0 >> 16) as u8
    }
    /// The MTU, or the offset of the problem.
    pub fn word(self) -> u16 {
        self.0 as u16
    }
}
