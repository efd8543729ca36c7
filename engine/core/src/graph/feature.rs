//! Features of an arc, and their order: by phase, and inside a phase by what they must come before or after, then by name; so the
//! order in which rooms are registered changes nothing.

use super::error::GraphError;
use std::fmt;

/// Where on a feature arc features have their places, from the first phase to the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Device: counting, filtering or handing off frames before their headers are read.
    Device,
    /// Tunnels and tags: decapsulation, encapsulation, and matching by their headers.
    Tunnel,
    /// Fragments are put together, or known by their first one.
    Reassembly,
    /// Whether senders may send from where they are.
    AntiSpoof,
    /// Lists of rules.
    Filter,
    /// Sessions are found or begun.
    Session,
    /// Headers are rewritten: addresses, ports, options.
    Translate,
    /// Rate limits.
    Policy,
    /// Where packets go, past the lookup.
    Forward,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Phase; 9] = [
        Phase::Device,
        Phase::Tunnel,
        Phase::Reassembly,
        Phase::AntiSpoof,
        Phase::Filter,
        Phase::Session,
        Phase::Translate,
        Phase::Policy,
        Phase::Forward,
    ];
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Device => "device",
            Phase::Tunnel => "tunnel",
            Phase::Reassembly => "reassembly",
            Phase::AntiSpoof => "anti-spoof",
            Phase::Filter => "filter",
            Phase::Session => "session",
            Phase::Translate => "translate",
            Phase::Policy => "policy",
            Phase::Forward => "forward",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A node's place on a feature arc.
#[derive(Clone, Debug)]
pub struct FeatureSpec {
    /// The arc.
    pub arc: &'static str,
    /// The node, which has an arc `next_feature`.
    pub node: &'static str,
    /// Features of an earlier phase come before it, and those of a later one after it. One without a phase, a plugin's, has its
    /// place by the other two alone, and as late as they allow.
    pub phase: Option<Phase>,
    /// Features that come after this one; the arc's end comes after all.
    pub before: &'static [&'static str],
    /// Features that come before this one.
    pub after: &'static [&'static str],
}

impl FeatureSpec {
    /// A node of an arc, in a phase.
    pub const fn new(arc: &'static str, node: &'static str, phase: Phase) -> FeatureSpec {
        FeatureSpec { arc, node, phase: Some(phase), before: &[], after: &[] }
    }
    /// The same, before other features.
    #[must_use]
    pub const fn before(self, before: &'static [&'static str]) -> FeatureSpec {
        FeatureSpec { before, ..self }
    }
    /// The same, after other features.
    #[must_use]
    pub const fn after(self, after: &'static [&'static str]) -> FeatureSpec {
        FeatureSpec { after, ..self }
    }
    /// Whether it must come before another one.
    fn precedes(&self, other: &FeatureSpec) -> bool {
        let is_earlier = self.phase.zip(other.phase).is_some_and(|(own, other)| own < other);
        is_earlier || self.before.contains(&other.node) || other.after.contains(&self.node)
    }
}

/// Orders the features of an arc.
pub(super) fn order(features: &[FeatureSpec]) -> Result<Vec<FeatureSpec>, GraphError> {
    let (mut rest, mut ordered) = (features.to_vec(), Vec::with_capacity(features.len()));
    rest.sort_by_key(|feature| (feature.phase.is_none(), feature.phase, feature.node));
    // From the end, so that those without a phase come late.
    while !rest.is_empty() {
        match rest.iter().rposition(|f| !rest.iter().any(|g| f.precedes(g))) {
            Some(last) => ordered.push(rest.remove(last)),
            None => return Err(contradiction(&rest)),
        }
    }
    ordered.reverse();
    Ok(ordered)
}

/// Two features of which each must come before the other, among those that all have one behind them.
fn contradiction(rest: &[FeatureSpec]) -> GraphError {
    // Walk along "must come before" until a feature comes up again: the two ends of a cycle.
    let mut seen = vec![0];
    loop {
        let at = seen[seen.len() - 1];
        let to = (0..rest.len()).find(|g| rest[at].precedes(&rest[*g])).unwrap_or(at);
        if seen.contains(&to) {
            let (first, second) = (&rest[at], &rest[to]);
            return GraphError::Cycle { arc: first.arc, first: first.node, second: second.node };
        }
        seen.push(to);
    }
}
