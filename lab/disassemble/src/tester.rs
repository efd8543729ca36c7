//! The test of the tester: stages that the check must find sound, or broken in a known way. They are built as the real
//! ones are, into this very program, which is checked before any other.

use quiver_engine::{ArcSpec, Body, Columns, Field, Guard, Isa, NodeSpec, PacketLanes, Quarters, Stage, Windows, arcs};

arcs! {
    /// Arcs of these stages.
    enum Next {
        Out => features "interface-output",
        TooShort => drop "too-short",
    }
}

const FIRST: Field = Field::new(0, 8);

macro_rules! stage {
    ($name:ident) => {
        #[derive(Clone)]
        struct $name;
        impl Stage for $name {
            const NAME: &'static str = stringify!($name);
            const ARCS: &'static [ArcSpec] = Next::ARCS;
            type Body<'f> = $name;
            fn enter<'f>(&'f mut self, _: Guard<'f>) -> $name {
                $name
            }
        }
    };
}

// As it should be.
stage!(Sound);
impl Body for Sound {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 1);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        p.leave(p.length.lt(14), Next::TooShort);
        p.tx = p.header.get(FIRST) ^ p.rx;
    }
}

// One attribute is missing, and nothing but the check tells.
stage!(NotInlined);
impl Body for NotInlined {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 1);
    #[inline(never)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        p.leave(p.length.lt(14), Next::TooShort);
        p.tx = p.header.get(FIRST) ^ p.rx;
    }
}

// A look-up through a function that only the running program knows.
stage!(CallsPointer);
impl Body for CallsPointer {
    const WRITES: Columns = Columns::TX;
    const READS: Quarters = Quarters::of(0, 1);
    #[inline(always)]
    fn step<I: Isa>(&mut self, p: &mut PacketLanes<I>, _: &mut Windows<'_>) {
        let look_up: fn(u32) -> u32 = std::hint::black_box(u32::swap_bytes);
        p.tx = p.rx.map(look_up);
    }
}

/// The stages, and what the check must say of each, or nothing.
pub fn cases() -> [(NodeSpec, Option<&'static str>); 3] {
    [
        (NodeSpec::stage(|_| Sound), None),
        (NodeSpec::stage(|_| NotInlined), Some("NotInlined as quiver_engine::stage::Body>::step")),
        (NodeSpec::stage(|_| CallsPointer), Some("calls whatever a register says in its loop")),
    ]
}
