//! Kinds of next hops that rooms register: targets of paths that are neither neighbors nor actions of IP itself.

use std::fmt;

use quiver_compat::types::FibPathType;

use super::hop::{self, KindHop};

/// Identifier of a next hop within its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The path's egress interface.
    Interface,
    /// A number: the id of the owner's object, which provides `next-hop` with the kind's name as prefix. Packets are
    /// encapsulated, and the outer packets have a path of their own.
    Number,
}

/// A kind of next hop, as its owner declares it.
#[derive(Debug)]
pub struct NextHopKind {
    /// Name in paths, one word.
    pub name: &'static str,
    /// Help text for a path over such a next hop.
    pub help: &'static str,
    /// Identifier of a next hop.
    pub of: Of,
    /// Nodes for IPv4 and IPv6 packets. `hop` holds the next hop ([`KindHop`]), and `tx` the interface if that
    /// identifies the next hop.
    pub nodes: [&'static str; 2],
    /// Path type in VPP's messages.
    pub path_type: FibPathType,
}

/// A kind that was registered.
#[derive(Clone, Copy)]
pub struct Kind {
    number: u8,
    spec: &'static NextHopKind,
}

impl Kind {
    /// The owner's declaration.
    pub fn spec(self) -> &'static NextHopKind {
        self.spec
    }
    /// The next hop of this index.
    pub fn hop(self, index: u32) -> KindHop {
        KindHop::new(self.number, index)
    }
    /// The place of its arc among those of all kinds.
    pub(crate) fn place(self) -> usize {
        self.number.into()
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)
    }
}
impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.number == other.number
    }
}
impl Eq for Kind {}
impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Kind) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Kind {
    fn cmp(&self, other: &Kind) -> std::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}
impl std::hash::Hash for Kind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// Why a kind cannot be registered.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KindError {
    /// Two kinds of one name.
    #[error("the kind of next hop `{0}` is registered twice; rename one of them")]
    Twice(&'static str),
    /// A path type of VPP's messages that two kinds have.
    #[error(
        "the kinds of next hop `{first}` and `{second}` have one path type of VPP's messages, {of:?}; choose another one"
    )]
    PathType {
        /// The kind that was registered first.
        first: &'static str,
        /// The kind that is refused.
        second: &'static str,
        /// The type.
        of: FibPathType,
    },
    /// More kinds than there are numbers.
    #[error("the kind of next hop `{0}` is one too many")]
    Full(&'static str),
}

/// The kinds that rooms have registered.
#[derive(Clone, Default)]
pub struct Kinds(Vec<Kind>);

impl Kinds {
    /// Gives a kind a number.
    pub(crate) fn register(&mut self, spec: &'static NextHopKind) -> Result<Kind, KindError> {
        for kind in self.iter() {
            let known = kind.spec;
            if known.name == spec.name {
                return Err(KindError::Twice(spec.name));
            }
            if known.path_type == spec.path_type {
                return Err(KindError::PathType { first: known.name, second: spec.name, of: spec.path_type });
            }
        }
        let flags = match spec.of {
            Of::Interface => KindHop::OF_INTERFACE,
            Of::Number => KindHop::INSIDE,
        };
        let number = hop::numbers(flags).find(|number| self.iter().all(|kind| kind.number != *number));
        let kind = Kind { number: number.ok_or(KindError::Full(spec.name))?, spec };
        self.0.push(kind);
        Ok(kind)
    }
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Kind> + '_ {
        self.0.iter().copied()
    }
    /// The kind of a name.
    pub fn named(&self, name: &str) -> Option<Kind> {
        self.iter().find(|kind| kind.spec.name == name)
    }
    /// The kind of a next hop.
    pub fn of(&self, hop: KindHop) -> Option<Kind> {
        self.iter().find(|kind| kind.number == hop.kind())
    }
    /// The kind that VPP's messages know by a path type.
    pub fn of_path_type(&self, of: FibPathType) -> Option<Kind> {
        self.iter().find(|kind| kind.spec.path_type == of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn spec(name: &'static str, of: Of, path_type: FibPathType) -> NextHopKind {
        NextHopKind { name, help: "", of, nodes: ["a", "b"], path_type }
    }
    static TUNNEL: NextHopKind = spec("tunnel", Of::Number, FibPathType::UdpEncap);
    static OTHER: NextHopKind = spec("other", Of::Number, FibPathType::BierImp);
    static SAME_NAME: NextHopKind = spec("tunnel", Of::Interface, FibPathType::Dvr);
    static SAME_TYPE: NextHopKind = spec("third", Of::Number, FibPathType::UdpEncap);
    static BY_INTERFACE: NextHopKind = spec("by-interface", Of::Interface, FibPathType::Dvr);

    #[test]
    fn kinds_have_numbers_that_say_what_workers_must_know() {
        let mut kinds = Kinds::default();
        let tunnel = kinds.register(&TUNNEL).expect("there is room");
        let other = kinds.register(&OTHER).expect("there is room");
        let by_interface = kinds.register(&BY_INTERFACE).expect("there is room");
        assert!(tunnel.hop(7).is_inside() && other.hop(7).is_inside() && tunnel.hop(7) != other.hop(7));
        assert_eq!((tunnel.hop(7).interface(), by_interface.hop(7).interface()), (None, Some(7)));
        assert!(!by_interface.hop(7).is_inside());
        assert_eq!(kinds.of(other.hop(0)).map(Kind::place), Some(other.place()));
        assert_eq!(kinds.register(&SAME_NAME), Err(KindError::Twice("tunnel")));
        assert!(
            kinds.register(&SAME_TYPE).expect_err("the type is taken").to_string().contains("`tunnel` and `third`")
        );
    }
}
