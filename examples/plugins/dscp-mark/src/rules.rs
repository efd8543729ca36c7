//! The rules by which packets are marked: one for each interface and prefix.

use quiver_plugin_sdk::{Interface, Object, Refusal};
use std::net::Ipv4Addr;

/// The section of the configuration file.
pub const KIND: &str = "dscp-marks";
/// Rules at most; each has a counter.
pub const RULES_MAX: usize = 256;

/// A rule as the node reads it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its counter's number, kept for as long as it lives.
    pub number: usize,
    /// The interface that receives.
    pub interface: u32,
    /// The destination's network, and the mask over it.
    pub network: u32,
    pub mask: u32,
    /// DSCP to set, 6 bits.
    pub dscp: u8,
}

/// All rules, those with longer prefixes first. A new value is published for every change.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl Rule {
    pub fn read(object: &Object<'_>) -> Result<Rule, Refusal> {
        let Interface(interface) = object.get("interface")?;
        let (address, length): (Ipv4Addr, u8) = object.get("to")?;
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        Ok(Rule { number: 0, interface, network: address.to_bits() & mask, mask, dscp: object.get("dscp")? })
    }
    fn is_like(&self, other: &Rule) -> bool {
        (self.interface, self.network, self.mask) == (other.interface, other.network, other.mask)
    }
    /// The prefix, for people.
    pub fn prefix_text(&self) -> String {
        format!("{}/{}", Ipv4Addr::from_bits(self.network), self.mask.count_ones())
    }
}

impl Rules {
    /// The first rule for a packet.
    pub fn find(&self, interface: u32, destination: u32) -> Option<&Rule> {
        self.0.iter().find(|rule| rule.interface == interface && destination & rule.mask == rule.network)
    }
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.iter()
    }
    pub fn has(&self, interface: u32) -> bool {
        self.0.iter().any(|rule| rule.interface == interface)
    }
    pub fn insert(&mut self, mut rule: Rule) -> Result<(), Refusal> {
        let number = match self.0.iter().position(|other| other.is_like(&rule)) {
            Some(at) => self.0.remove(at).number,
            None => (0..RULES_MAX)
                .find(|number| self.0.iter().all(|other| other.number != *number))
                .ok_or_else(|| Refusal::new(format!("there are {RULES_MAX} rules already")).remedy("delete one"))?,
        };
        rule.number = number;
        self.0.push(rule);
        self.0.sort_by_key(|rule| std::cmp::Reverse(rule.mask));
        Ok(())
    }
    pub fn remove(&mut self, rule: &Rule) {
        self.0.retain(|other| !other.is_like(rule));
    }
}
