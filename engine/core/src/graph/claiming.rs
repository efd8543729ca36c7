//! Rooms claim numbers for their nodes; see [`Claim`].

use super::arc::ArcSpec;
use super::blueprint::Blueprint;
use super::claims::{Claim, Number};
use super::error::GraphError;
use super::wiring::NodeId;

impl Blueprint {
    /// Adds an arc to a node, unless it has it already; the number of the arc.
    ///
    /// # Errors
    /// If there is no such node, or if workers have instances of it.
    pub fn add_arc(&mut self, node: &str, arc: ArcSpec) -> Result<u16, GraphError> {
        let id = self.find(node)?;
        let is_started = !self.counters.is_empty();
        let spec = &mut self.nodes[id.index()];
        let place = match spec.arcs.iter().position(|known| *known == arc) {
            Some(place) => place,
            None if is_started => return Err(GraphError::Started { node: spec.name, arc: arc.name }),
            None => {
                spec.arcs.push(arc);
                self.wiring.set(None);
                self.arcs(id).len() - 1
            }
        };
        Ok(place as u16)
    }
    /// Makes packets of a number leave a demultiplexer by an arc, which is added if the node does not have it. Returns
    /// the number of the arc.
    ///
    /// # Errors
    /// If the number is claimed already, or as [`Blueprint::add_arc`].
    pub fn claim<N: Number>(&mut self, node: &'static str, number: N, arc: ArcSpec) -> Result<u16, GraphError> {
        if let Some(claim) = self.claims.get(&(node, number.value())) {
            let (shown, first) = (number.to_string(), self.claimant(node, claim));
            return Err(GraphError::ClaimedTwice { what: N::WHAT, shown, node, first, second: arc.name });
        }
        let place = self.add_arc(node, arc)?;
        let claim = Claim { what: N::WHAT, shown: number.to_string(), arc: place };
        self.claims.insert((node, number.value()), claim);
        Ok(place)
    }
    /// Takes a claim back; the arc stays.
    pub fn release<N: Number>(&mut self, node: &'static str, number: N) {
        self.claims.remove(&(node, number.value()));
    }
    /// Redirects an arc that its node declares for unclaimed packets to another node.
    ///
    /// # Errors
    /// If another node takes them already, or if there is no such node or arc.
    pub fn claim_arc(&mut self, node: &'static str, arc: u16, to: &'static str) -> Result<(), GraphError> {
        let (from, to) = (self.find(node)?, self.find(to)?);
        if let Some(first) = self.rewired.get(&(from, arc)) {
            let shown = self.arc_name(from, arc).to_owned();
            let (first, second) = (self.name(*first), self.name(to));
            return Err(GraphError::ClaimedTwice { what: "arc", shown, node, first, second });
        }
        self.rewire(from, arc, Some(to));
        Ok(())
    }
    /// The node or feature arc that takes a number's packets.
    pub fn claimant(&self, node: &str, claim: &Claim) -> &'static str {
        self.find(node).map_or("unknown", |id| self.arc_name(id, claim.arc))
    }
    fn arc_name(&self, node: NodeId, arc: u16) -> &'static str {
        self.arcs(node).get(usize::from(arc)).map_or("unknown", |arc| arc.name)
    }
    /// All claims, by demultiplexer and number.
    pub fn claims(&self) -> impl Iterator<Item = (&'static str, u16, &Claim)> {
        self.claims.iter().map(|((node, number), claim)| (*node, *number, claim))
    }
}
