//! The path and the end of a packet in the model, and which packets must keep their order.

/// The path and the end of a packet, or of a copy that a node makes of it.
pub struct PacketEnd {
    /// The interface that sends it, with its bytes.
    pub sent: Option<(u32, Vec<u8>)>,
    /// The nodes that it passes.
    pub path: Vec<Passed>,
    /// Whether it is sent with the same bytes as another one, so that the two cannot be told apart.
    pub is_ambiguous: bool,
}

/// A node that a packet passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    pub node: usize,
    /// Whether the node is no stage.
    pub is_plain: bool,
    /// Whether the packet goes aside there: an arc leads to this plain node, and no other.
    pub is_aside: bool,
    pub made: Made,
}

/// An effect of a node on a packet that its rule does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    Nothing,
    /// It was taken out of its frame, and emitted.
    Taken,
    /// This is a copy, made there.
    Copied,
}

/// A node on the way of both the ordinary packets and those that go aside, and what one of these passes behind it.
struct Gap {
    behind: Option<Passed>,
    aside: Vec<Passed>,
}

impl PacketEnd {
    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = vec![];
        let mut last = Gap { behind: None, aside: vec![] };
        for passed in &self.path {
            match passed.is_aside {
                true => last.aside.push(*passed),
                false => gaps.push(std::mem::replace(&mut last, Gap { behind: Some(*passed), aside: vec![] })),
            }
        }
        gaps.push(last);
        gaps
    }
    /// Whether a packet that was received behind this one, in the same frame, must not overtake it. `is_split` says that the frame is split
    /// wherever one goes aside.
    pub fn keeps_ahead_of(&self, behind: &PacketEnd, is_split: bool) -> bool {
        if self.is_ambiguous || behind.is_ambiguous {
            return false;
        }
        if self.path == behind.path {
            return true;
        }
        let (first, second) = (self.gaps(), behind.gaps());
        if !is_split || !first.iter().map(|gap| gap.behind).eq(second.iter().map(|gap| gap.behind)) {
            return false;
        }
        for (a, b) in first.iter().zip(&second) {
            // One that goes aside alone comes behind this one anyway, and where this one does, the other waits until it is through.
            if !a.aside.is_empty() && a.aside != b.aside {
                return b.aside.is_empty();
            }
        }
        true
    }
    /// Whether it was taken out of its frame.
    pub fn is_taken(&self) -> bool {
        self.path.iter().any(|passed| passed.made == Made::Taken)
    }
    /// The number of nodes on its path that are no stages.
    pub fn detours(&self) -> usize {
        self.path.iter().filter(|passed| passed.is_plain).count()
    }
}
