//! Arcs as nodes declare them.

/// Where an arc leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To the node of this name.
    Node(&'static str),
    /// To the end; the arc's name is the reason that is counted.
    Drop,
    /// To the end as well, but the node has done with the packet what was to be done: it is not lost.
    Done,
    /// To the control thread; the arc's name is the reason.
    Punt,
    /// Onto the feature arc of this name, which ends at that arc's end node.
    Features(&'static str),
    /// Out of the graph, by the port of the sending interface.
    Out,
    /// To the next feature on the arc that the node is registered on.
    NextFeature,
}

/// An arc of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArcSpec {
    /// The arc's name, which names its counter.
    pub name: &'static str,
    /// Where it leads.
    pub to: To,
}

impl ArcSpec {
    /// The arc to a node, which has the node's name.
    pub const fn to_node(name: &'static str) -> ArcSpec {
        ArcSpec { name, to: To::Node(name) }
    }
    /// Whether packets that take the arc are lost.
    pub fn is_drop(&self) -> bool {
        self.to == To::Drop
    }
}

/// Declares the arcs of a node: an enum whose variants are the values of `frame.next`, and `ARCS` for the node's spec.
///
/// ```
/// quiver_engine::arcs! {
///     /// Where packets go from here.
///     pub enum Next {
///         Lookup => node "ip4-lookup",
///         TooShort => drop "too-short",
///         ForUs => punt "for-us",
///         Out => features "interface-output",
///     }
/// }
/// assert_eq!(Next::ARCS[Next::TooShort as usize].name, "too-short");
/// ```
///
/// Where a node is written once for several types, names depend on the type and stand in parentheses; `arcs` has the arcs
/// of one:
///
/// ```
/// pub trait Family {
///     const LOOKUP: &'static str;
/// }
/// struct V4;
/// impl Family for V4 {
///     const LOOKUP: &'static str = "ip4-lookup";
/// }
/// quiver_engine::arcs! {
///     /// Where packets go from here.
///     pub enum Next of F: Family {
///         Lookup => node (F::LOOKUP),
///         TooShort => drop "too-short",
///     }
/// }
/// assert_eq!(Next::arcs::<V4>()[0].name, "ip4-lookup");
/// ```
#[macro_export]
macro_rules! arcs {
    ($(#[$doc:meta])* $vis:vis enum $next:ident { $($(#[$about:meta])* $variant:ident => $kind:ident $($name:literal)?),+ $(,)? }) => {
        $crate::arcs!(@next $(#[$doc])* $vis enum $next { $($(#[$about])* $variant),+ });
        impl $next {
            /// The arcs, by the variants' numbers.
            pub const ARCS: &'static [$crate::ArcSpec] = &[$($crate::arcs!(@arc $kind $($name)?)),+];
        }
    };
    ($(#[$doc:meta])* $vis:vis enum $next:ident of $of:ident: $bound:path {
        $($(#[$about:meta])* $variant:ident => $kind:ident $($name:literal)? $(($named:expr))?),+ $(,)?
    }) => {
        $crate::arcs!(@next $(#[$doc])* $vis enum $next { $($(#[$about])* $variant),+ });
        impl $next {
            /// The arcs, by the variants' numbers.
            pub const fn arcs<$of: $bound>() -> &'static [$crate::ArcSpec] {
                const { &[$($crate::arcs!(@arc $kind $($name)? $($named)?)),+] }
            }
        }
    };
    (@next $(#[$doc:meta])* $vis:vis enum $next:ident { $($(#[$about:meta])* $variant:ident),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        $vis enum $next { $($(#[$about])* $variant),+ }
        impl From<$next> for u16 {
            #[inline(always)]
            fn from(next: $next) -> u16 { next as u16 }
        }
    };
    (@arc node $name:expr) => { $crate::ArcSpec::to_node($name) };
    (@arc drop $name:expr) => { $crate::ArcSpec { name: $name, to: $crate::To::Drop } };
    (@arc done $name:expr) => { $crate::ArcSpec { name: $name, to: $crate::To::Done } };
    (@arc punt $name:expr) => { $crate::ArcSpec { name: $name, to: $crate::To::Punt } };
    (@arc features $name:expr) => { $crate::ArcSpec { name: $name, to: $crate::To::Features($name) } };
    (@arc out $name:expr) => { $crate::ArcSpec { name: $name, to: $crate::To::Out } };
    (@arc next_feature) => { $crate::ArcSpec { name: "next-feature", to: $crate::To::NextFeature } };
    // One that is something else for each type.
    (@arc arc $spec:expr) => { $spec };
}
