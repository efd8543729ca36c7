use quiver_plugin_abi as abi;

/// Where an arc leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To the node of this name.
    Node(&'static str),
    /// To the end; the arc's name is the reason that is counted.
    Drop,
    /// To the end, done with.
    Done,
    /// To the control thread.
    Punt,
    /// Onto the feature arc of this name.
    Features(&'static str),
    /// Out of the graph by the sending interface.
    Out,
    /// To the next feature on the arc that the node is on.
    NextFeature,
}

/// An arc of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arc {
    /// The arc's name, which names its counter.
    pub name: &'static str,
    /// Where it leads.
    pub to: To,
}

impl Arc {
    pub(crate) fn crossing(self) -> abi::Arc {
        let (kind, to) = match self.to {
            To::Node(to) => (abi::ARC_NODE, to),
            To::Drop => (abi::ARC_DROP, ""),
            To::Done => (abi::ARC_DONE, ""),
            To::Punt => (abi::ARC_PUNT, ""),
            To::Features(to) => (abi::ARC_FEATURES, to),
            To::Out => (abi::ARC_OUT, ""),
            To::NextFeature => (abi::ARC_NEXT_FEATURE, ""),
        };
        abi::Arc { name: abi::Text::new(self.name), kind, to: abi::Text::new(to) }
    }
}

/// Declares the arcs of a node: an enum whose variants [`Frame::set_next`](crate::Frame::set_next) takes, and its `ARCS`. The
/// first one is how packets go on of which the node says nothing.
#[macro_export]
macro_rules! arcs {
    ($(#[$doc:meta])* $vis:vis enum $next:ident {
        $($(#[$about:meta])* $variant:ident => $kind:ident $($name:literal)?),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        $vis enum $next { $($(#[$about])* $variant),+ }
        impl $next {
            /// The arcs, by the variants' numbers.
            pub const ARCS: &'static [$crate::Arc] = &[$($crate::arcs!(@arc $kind $($name)?)),+];
        }
        impl From<$next> for u16 {
            fn from(next: $next) -> u16 { next as u16 }
        }
    };
    (@arc node $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Node($name) } };
    (@arc drop $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Drop } };
    (@arc done $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Done } };
    (@arc punt $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Punt } };
    (@arc features $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Features($name) } };
    (@arc out $name:literal) => { $crate::Arc { name: $name, to: $crate::To::Out } };
    (@arc next_feature) => { $crate::Arc { name: "next-feature", to: $crate::To::NextFeature } };
}
