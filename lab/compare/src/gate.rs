//! Two builds measured in turns.

use quiver_verdict::compare::{Confidence, Side, order, paired, pairs_needed};
use quiver_verdict::gate::{Gate, Judgement};

/// Something that can be measured again and again.
pub trait Bench {
    /// Why it could not be.
    type Error;

    /// Measures one of both sides once.
    ///
    /// # Errors
    /// It could not be measured.
    fn measure(&mut self, side: Side) -> Result<f64, Self::Error>;
}

/// How two builds are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How many times both are measured.
    pub pairs: usize,
    /// Rule that decides what passes.
    pub gate: Gate,
    /// How sure a verdict shall be.
    pub confidence: Confidence,
    /// Seed that decides the order within each pair.
    pub seed: u64,
}

impl Plan {
    /// A verdict that cannot be had is not waited for: each of so many is drawn from the pairs, all with the confidence together.
    ///
    /// # Errors
    /// There are too few pairs for that.
    pub fn check(&self, verdicts: usize) -> Result<(), TooFewPairs> {
        let needed = pairs_needed(self.confidence.shared_by(verdicts));
        if self.pairs < needed { Err(TooFewPairs { pairs: self.pairs, needed }) } else { Ok(()) }
    }
}

/// A plan that leads to no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pairs} pairs say nothing at this confidence: {needed} are the least")]
pub struct TooFewPairs {
    /// How many there are.
    pub pairs: usize,
    /// How many are needed.
    pub needed: usize,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum GateError<E> {
    /// The plan leads to none.
    #[error(transparent)]
    Plan(#[from] TooFewPairs),
    /// A measurement failed.
    #[error("pair {pair}, {}: {error}", name(*side))]
    Bench {
        /// Which, from 1.
        pair: usize,
        /// The side that failed.
        side: Side,
        /// The error.
        error: E,
    },
    /// The samples have no ratio.
    #[error(transparent)]
    Incomparable(#[from] quiver_verdict::compare::Incomparable),
}

/// The side's name in messages.
pub fn name(side: Side) -> &'static str {
    match side {
        Side::Parent => "parent",
        Side::Current => "current",
    }
}

/// Measures both in turns, in an order that is tossed, and judges. `seen` hears each pair (parent, current) as it is known.
///
/// # Errors
/// The plan is too small, which is said before anything is measured; or a measurement fails.
pub fn gate<B: Bench>(
    bench: &mut B,
    plan: Plan,
    mut seen: impl FnMut(usize, (f64, f64)),
) -> Result<Judgement, GateError<B::Error>> {
    plan.check(1)?;
    let mut pairs = Vec::with_capacity(plan.pairs);
    for pair in 0..plan.pairs {
        let mut both = (0.0, 0.0);
        for side in order(plan.seed, pair) {
            let value = bench.measure(side).map_err(|error| GateError::Bench { pair: pair + 1, side, error })?;
            match side {
                Side::Parent => both.0 = value,
                Side::Current => both.1 = value,
            }
        }
        seen(pair + 1, both);
        pairs.push(both);
    }
    Ok(plan.gate.judge(paired(&pairs, plan.confidence)?))
}
