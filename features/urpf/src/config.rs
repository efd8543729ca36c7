//! Which interfaces are checked, and how.

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};
use quiver_ip::objects::TableNumber;
use quiver_ip::{Family, Ip};

quiver_ip::of_families! {
    /// A family whose senders can be checked.
    pub trait Checked: Family {
        /// The kind of the checks.
        const KIND: &'static str = "reverse-path-checks", "ip6-reverse-path-checks";
        /// Their nodes: loose and strict of what is received, and of what is sent.
        const NODES: [[&'static str; 2]; 2] =
            [["ip4-rx-urpf-loose", "ip4-rx-urpf-strict"], ["ip4-tx-urpf-loose", "ip4-tx-urpf-strict"]],
            [["ip6-rx-urpf-loose", "ip6-rx-urpf-strict"], ["ip6-tx-urpf-loose", "ip6-tx-urpf-strict"]];
    }
}

quiver_control::choice! {
    /// Mode of the source address check.
    pub enum Mode {
        /// Any route to the source (RFC 3704, 2.4).
        Loose = "loose",
        /// A route to the source through the receiving interface, or, for transmitted packets, not through the
        /// transmitting one (RFC 3704, 2.2).
        Strict = "strict",
    } as "urpf-mode", "loose or strict";
}

/// Unicast reverse path forwarding (uRPF, RFC 3704): a check that the source address is reachable.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct ReversePathCheck<F: Checked> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Direction of the checked packets: received or transmitted.
    #[key]
    pub direction: Direction,
    /// Mode: any route to the source (loose), or one through this interface (strict).
    #[default(Mode::Strict)]
    pub mode: Mode,
    /// Id of the table to look sources up in. Default: the interface's.
    pub table: Option<TableNumber<F>>,
}

/// The check on an interface, as workers read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The slot of the table for source lookups, if not the interface's own.
    pub slot: Option<u16>,
    /// The mode; None disables the check. It applies as soon as it is set, also in nodes whose wiring workers have not
    /// updated yet.
    pub mode: Option<Mode>,
}

/// The node of a direction and mode.
pub(crate) const fn node<F: Checked>(direction: Direction, mode: Mode) -> &'static str {
    F::NODES[direction as usize][mode as usize]
}

/// Place of the node, and VPP's name for the count of dropped packets.
const fn feature<F: Checked>(direction: Direction, mode: Mode) -> FeatureNode {
    let arc = match direction {
        Direction::Rx => F::NAMES.unicast,
        Direction::Tx => F::NAMES.output,
    };
    let spec = FeatureSpec::new(arc, node::<F>(direction, mode), Phase::AntiSpoof);
    FeatureNode::new(direction, spec).also_called(&[("no-reverse-path", "uRPF Drop")])
}

impl<F: Checked> InterfaceFeature for ReversePathCheck<F> {
    type Setting = Setting;
    const NODES: &'static [FeatureNode] = &[
        feature::<F>(Direction::Rx, Mode::Loose),
        feature::<F>(Direction::Rx, Mode::Strict),
        feature::<F>(Direction::Tx, Mode::Loose),
        feature::<F>(Direction::Tx, Mode::Strict),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        node.spec.node == self::node::<F>(self.direction, self.mode)
    }
    fn word(&self, control: &Control, _: Direction) -> Result<Setting, ObjectError> {
        let slot = self.table.map(|table| {
            let found = control.room::<Ip<F>>().fib.table(table.into()).map(|table| table.slot);
            found.ok_or_else(|| ObjectError::field("table", format!("there is no table {table}")))
        });
        Ok(Setting { slot: slot.transpose()?, mode: Some(self.mode) })
    }
}
