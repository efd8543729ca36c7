//! The config objects `dscp-marks`: one for each interface and prefix.

use crate::api;
use crate::node::DscpMark;
use quiver_plugin_sdk::{Control, Event, Field, Interface, Kind, NodeHandle, Object, Refusal};
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

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
    /// What is marked, 6 bits.
    pub dscp: u8,
}

/// All rules, those with longer prefixes first. A new value is published for every change.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl Rule {
    fn read(object: &Object<'_>) -> Result<Rule, Refusal> {
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
    fn has(&self, interface: u32) -> bool {
        self.0.iter().any(|rule| rule.interface == interface)
    }
    fn insert(&mut self, mut rule: Rule) -> Result<(), Refusal> {
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
}

/// The kind: every change publishes the rules to the node's instances, enables the node where there are rules, and is told to
/// clients that asked for it.
pub fn kind(node: NodeHandle<DscpMark>, rules: Rc<RefCell<Rules>>, changed_event: Event) -> Kind {
    let fields = [
        Field::new("interface", "interface", "The interface that receives the packets.").key(),
        Field::new("to", "ip4-prefix", "Where the packets go.").key(),
        Field::new("dscp", "u8", "What they are marked with, from 0 to 63.").default("46"),
    ];
    let check = |object: &Object<'_>| match object.get::<u8>("dscp")? {
        0..=63 => Ok(()),
        dscp => Err(Refusal::new(format!("{dscp} has more than 6 bits")).of("dscp").remedy("from 0 to 63")),
    };
    Kind::new(KIND, "Packets marked with a DSCP when they are received.", fields, move |control, change| {
        let mut changed = rules.borrow().clone();
        let (rule, is_add) = match (&change.before, &change.after) {
            (_, Some(after)) => (Rule::read(after)?, true),
            (Some(before), None) => (Rule::read(before)?, false),
            (None, None) => return Ok(()),
        };
        match is_add {
            true => changed.insert(rule.clone())?,
            false => changed.0.retain(|other| !other.is_like(&rule)),
        }
        publish(control, node, &changed, rule.interface)?;
        *rules.borrow_mut() = changed;
        control.tell(changed_event, &api::event_fields(&rule, is_add))
    })
    .check(check)
}

fn publish(control: &Control<'_>, node: NodeHandle<DscpMark>, rules: &Rules, touched: u32) -> Result<(), Refusal> {
    control.enable("ip4-unicast", "dscp-mark", touched, rules.has(touched))?;
    control.publish(node, rules.clone())
}
