//! MTUs: what is configured of an interface, and what its link takes of that. A part of an interface has the link of the whole, so it
//! takes no more than that does.

/// MTUs of protocols; where there is none, the interface's holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mtus {
    /// Of IPv4.
    pub ip4: Option<u16>,
    /// Of IPv6.
    pub ip6: Option<u16>,
    /// Of MPLS.
    pub mpls: Option<u16>,
}

impl Mtus {
    /// In VPP's order; 0 where there is none.
    pub fn in_order(self) -> [u16; 3] {
        [self.ip4, self.ip6, self.mpls].map(Option::unwrap_or_default)
    }
}

/// The configured MTUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Of whatever has none of its own.
    pub mtu: Option<u16>,
    /// Of protocols.
    pub mtus: Mtus,
}

/// Bytes of a packet that a link takes, from the layer 3 header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMtu {
    /// The MTU while none is configured.
    pub usual: u16,
    /// The MTU at most, whatever is configured.
    pub most: u16,
}

impl LinkMtu {
    /// Of a link that takes what it is told to.
    pub fn usually(mtu: u16) -> LinkMtu {
        LinkMtu { usual: mtu, most: u16::MAX }
    }
    /// Of a link that takes no more.
    pub fn limit(mtu: u16) -> LinkMtu {
        LinkMtu { usual: mtu, most: mtu }
    }
    /// The part of a wanted MTU that it takes.
    pub(crate) fn of(self, wanted: Wanted) -> (u16, Mtus) {
        let of = |own: Option<u16>| own.map(|own| own.min(self.most));
        let Mtus { ip4, ip6, mpls } = wanted.mtus;
        let mtus = Mtus { ip4: of(ip4), ip6: of(ip6), mpls: of(mpls) };
        (wanted.mtu.unwrap_or(self.usual).min(self.most), mtus)
    }
}
