//! Errors of a graph.

use crate::vector::INTERFACES_MAX;

/// Why a graph cannot be built. Every message names both ends.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GraphError {
    /// The number of an interface is too large.
    #[error("interface {0} is out of range: numbers of interfaces are less than {INTERFACES_MAX}")]
    Interface(u32),
    /// Two nodes of one name.
    #[error("node `{0}` is registered twice; rename one of them")]
    NodeTwice(&'static str),
    /// Two feature arcs of one name.
    #[error("feature arc `{0}` is registered twice; rename one of them")]
    ArcTwice(&'static str),
    /// An arc to a node that is not there.
    #[error("node `{from}`: arc `{arc}` leads to `{to}`, which is not registered")]
    UnknownTarget {
        /// The node whose arc it is.
        from: &'static str,
        /// The arc.
        arc: &'static str,
        /// The missing node or feature arc.
        to: &'static str,
    },
    /// A feature names an arc, node or feature that is not there.
    #[error("feature `{feature}` on arc `{arc}`: {what} `{name}` is not registered")]
    UnknownInFeature {
        /// The feature's node.
        feature: &'static str,
        /// The arc it is on.
        arc: &'static str,
        /// The missing thing: a node or an arc.
        what: &'static str,
        /// Its name.
        name: &'static str,
    },
    /// The order of features contradicts itself.
    #[error(
        "arc `{arc}`: `{first}` is to come before `{second}`, and `{second}` before `{first}`; remove one of the orders, or \
         choose another phase"
    )]
    Cycle {
        /// The arc.
        arc: &'static str,
        /// One end.
        first: &'static str,
        /// The other end.
        second: &'static str,
    },
    /// A node with an arc to the next feature is on no arc, or on two.
    #[error("node `{node}` has an arc `next_feature` but is a feature of {count} arcs; register it on exactly one")]
    FeatureOfNone {
        /// The node.
        node: &'static str,
        /// The arcs it is on.
        count: usize,
    },
    /// Two nodes stand for one.
    #[error("node `{second}` cannot stand for `{of}`, for which `{first}` stands already; leave one of them out")]
    StandInTwice {
        /// The node that they stand for.
        of: &'static str,
        /// The node that stands for it.
        first: &'static str,
        /// The refused node.
        second: &'static str,
    },
    /// A node that cannot stand for another.
    #[error(
        "node `{node}` cannot stand for `{of}`: who stands for another is no feature, has nobody that stands for it, and \
         leads onto no arc that ends at `{of}`"
    )]
    NoStandIn {
        /// The node.
        node: &'static str,
        /// The node that it was to stand for.
        of: &'static str,
    },
    /// An arc that cannot end at the beginning of another one.
    #[error("feature arc `{arc}` cannot end at feature arc `{end}`: {problem}")]
    EndOfArc {
        /// The arc.
        arc: &'static str,
        /// The one behind it.
        end: &'static str,
        /// Why not.
        problem: &'static str,
    },
    /// Numbers of nodes have 16 bits.
    #[error("node `{0}` is one too many: a graph has at most 65,535 nodes")]
    Full(&'static str),
    /// Two rooms take packets of one number.
    #[error("{what} {shown} at node `{node}` is claimed by `{first}` and by `{second}`; leave one of them out")]
    ClaimedTwice {
        /// The noun for the number, such as `ethertype`.
        what: &'static str,
        /// The number.
        shown: String,
        /// The demultiplexer.
        node: &'static str,
        /// The node or feature arc that claimed it first.
        first: &'static str,
        /// The one that is refused.
        second: &'static str,
    },
    /// An arc for a node that workers run already.
    #[error("node `{node}` cannot get an arc to `{arc}`: workers run already; add it when rooms are registered")]
    Started {
        /// The node.
        node: &'static str,
        /// The arc's name.
        arc: &'static str,
    },
    /// A name that control asked for.
    #[error("{what} `{name}` does not exist; `show graph` lists what does")]
    Unknown {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
}
