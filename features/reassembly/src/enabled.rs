//! Nodes that an object of kind `reassemblies` enables at its interface, and their deciding objects.

use quiver_control::{Control, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceId, InterfaceName, Interfaces};

use crate::config::{Reassemblies, Reassembly};
use crate::family::Reassembled;
use crate::{node, shallow};

/// Reasons of full reassembly, with what VPP's clients know them by.
pub(crate) const FULL_KNOWN: &[(&str, &str)] = &[
    ("overlapping-fragments", "reass_overlapping_fragment"),
    ("reassembly-full", "reass_limit_reached"),
    ("reassembly-timeout", "reass_timeout"),
    ("no-buffers", "reass_no_buf"),
    ("bad-fragment-length", "reass_invalid_frag_len"),
    ("reassembled-too-long", "reass_malformed_packet"),
];

/// The same of shallow reassembly.
const SHALLOW_KNOWN: &[(&str, &str)] =
    &[("reassembly-full", "reass_limit_reached"), ("reassembly-timeout", "reass_timeout")];

/// The reason that counts all parts of packets of too many parts, and by what VPP's clients know the count of such packets.
pub(crate) const TOO_MANY: (&str, &str) = ("too-many-fragments", "reass_fragment_chain_too_long");

impl<F: Reassembled> InterfaceFeature for Reassembly<F> {
    /// The number of the interface. The limits hold of all.
    type Setting = u32;
    const NODES: &'static [FeatureNode] = &[
        FeatureNode::new(Direction::Rx, FeatureSpec::new(F::NAMES.unicast, F::FULL, Phase::Reassembly))
            .also_called(FULL_KNOWN),
        FeatureNode::new(
            Direction::Rx,
            FeatureSpec::new(F::NAMES.unicast, F::SHALLOW, Phase::Reassembly).after(&[F::FULL]),
        )
        .also_called(SHALLOW_KNOWN),
    ];
    fn enables(&self, node: &FeatureNode) -> bool {
        if node.spec.node == F::FULL { self.full } else { self.shallow }
    }
    fn word(&self, control: &Control, _: Direction) -> Result<u32, ObjectError> {
        connect::<F>(control);
        Ok(control.room::<Interfaces>().id_of(&self.interface.0)?.0)
    }
    fn release(control: &Control, interface: u32) {
        // It was disabled with the object, but a room needs it.
        let interface = InterfaceId(interface);
        if control.room::<Reassemblies<F>>().needs(interface) {
            // The node was enabled there before.
            _ = control.room_mut::<Dataplane>().enable(F::NAMES.unicast, F::SHALLOW, interface.0, true);
        }
    }
    fn decider(_: &Control, node: &FeatureNode, record: &Record) -> Option<String> {
        match node.spec.node == F::FULL {
            true => full_decides::<F>(record),
            false => shallow_decides::<F>(record),
        }
    }
}

/// Before the first node begins: parts of a packet may come to several workers.
fn connect<F: Reassembled>(control: &Control) {
    control.room_mut::<Dataplane>().connect_workers();
    control.room_mut::<Reassemblies<F>>().connect();
}

/// Has later fragments that an interface receives get the ports of the first one, whatever is configured there; or no longer.
///
/// # Errors
/// If the graph refuses the node.
pub fn need_shallow<F: Reassembled>(control: &Control, interface: InterfaceId, on: bool) -> Result<(), ObjectError> {
    connect::<F>(control);
    control.room_mut::<Reassemblies<F>>().set_needed(interface, on);
    let name = InterfaceName(control.room::<Interfaces>().name(interface));
    let is_configured = control.objects().get::<Reassembly<F>>(&name).is_some_and(|object| object.shallow);
    let on = on || is_configured;
    let enabled = control.room_mut::<Dataplane>().enable(F::NAMES.unicast, F::SHALLOW, interface.0, on);
    enabled.map_err(|error| ObjectError::whole(error.to_string()))
}

/// Why a fragment is handed to another worker.
const ELSEWHERE: &str = "the other parts of the packet, which come together there";

/// The deciding object of a fragment in full reassembly.
pub(crate) fn full_decides<F: Reassembled>(record: &Record) -> Option<String> {
    let is = |next: node::Next| record.arc == Some(u16::from(next));
    match record.hop {
        // No fragment.
        _ if is(node::Next::Whole) => None,
        _ if is(node::Next::Here) => Some(ELSEWHERE.to_owned()),
        0 if is(node::Next::Kept) => Some(format!("the packet, which is whole with it on worker {}", record.worker)),
        1 if is(node::Next::Kept) => {
            Some(format!("parts that have not come yet; it is the first that worker {} has", record.worker))
        }
        parts if is(node::Next::Kept) => {
            Some(format!("parts that have not come yet; worker {} has {parts} with it", record.worker))
        }
        _ => Some(format!("{} full", F::SETTINGS)),
    }
}

/// The same of shallow reassembly.
fn shallow_decides<F: Reassembled>(record: &Record) -> Option<String> {
    Some(match record.arc {
        Some(arc) if arc == u16::from(shallow::Next::Here) => ELSEWHERE.to_owned(),
        Some(_) => format!("{} shallow", F::SETTINGS),
        None => "a part of the packet that has not come yet".to_owned(),
    })
}
