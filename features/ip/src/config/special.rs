//! Special prefixes: what every table does with destinations that a router does not forward of itself (RFC 6890), and what is
//! configured in place of that.

use std::collections::BTreeMap;
use std::sync::Arc;

use quiver_control::Object;
use quiver_wire::Prefix;

use crate::family::Family;
use crate::fib::Special;

quiver_control::choice! {
    /// Action for packets to a special prefix.
    pub enum SpecialAction {
        /// Packets are dropped.
        Drop = "drop",
        /// Senders receive an ICMP error: host unreachable.
        Unreachable = "unreachable",
        /// Senders receive an ICMP error: administratively prohibited.
        Prohibit = "prohibit",
        /// Packets are forwarded like others. IPv4 packets from the prefix are accepted, too.
        Forward = "forward",
    } as "special-action", "drop, unreachable, prohibit or forward";
}

/// Special prefix: an action in all tables. Routes of longer prefixes override it; routes of the same prefix do not.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::NAMES.special_prefixes)]
pub struct SpecialPrefix<F: Family> {
    /// Destination prefix, such as 240.0.0.0/4.
    #[key]
    pub prefix: Prefix<F>,
    /// Action for packets to the prefix.
    #[default(SpecialAction::Drop)]
    pub action: SpecialAction,
}

/// Actions of tables for special prefixes: built-in and configured.
pub(crate) struct Specials<F: Family>(BTreeMap<Prefix<F>, Option<Special>>);

impl<F: Family> Default for Specials<F> {
    fn default() -> Specials<F> {
        Specials(built_in::<F>().map(|(prefix, special)| (prefix, Some(special))).collect())
    }
}

impl<F: Family> Specials<F> {
    /// The prefixes that have a route in every table.
    pub fn routes(&self) -> Vec<(Prefix<F>, Special)> {
        self.0.iter().filter_map(|(prefix, special)| Some((*prefix, (*special)?))).collect()
    }
    /// The prefixes whose packets are forwarded like others.
    pub fn ordinary(&self) -> Arc<[Prefix<F>]> {
        self.0.iter().filter(|(_, special)| special.is_none()).map(|(prefix, _)| *prefix).collect()
    }
    /// Notes what is configured of a prefix; None gives back what tables do of themselves. What becomes of its packets now.
    pub fn set(&mut self, prefix: Prefix<F>, action: Option<SpecialAction>) -> Option<Special> {
        let special = match action {
            Some(SpecialAction::Drop) => Some(Special::Drop),
            Some(SpecialAction::Unreachable) => Some(Special::Unreachable),
            Some(SpecialAction::Prohibit) => Some(Special::Prohibit),
            Some(SpecialAction::Forward) => None,
            None => {
                let special = built_in::<F>().find(|(known, _)| *known == prefix).map(|(_, special)| special);
                match special {
                    Some(special) => drop(self.0.insert(prefix, Some(special))),
                    None => drop(self.0.remove(&prefix)),
                }
                return special;
            }
        };
        self.0.insert(prefix, special);
        special
    }
}

fn built_in<F: Family>() -> impl Iterator<Item = (Prefix<F>, Special)> {
    F::SPECIAL.iter().filter_map(|(prefix, special)| Some((prefix.parse().ok()?, *special)))
}
