//! `sample-ip4-parser`: sessions by IPv4 addresses and ports, with keys of a format of its own.

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Control, Object, ObjectError};
use quiver_engine::trace::Record;
use quiver_engine::{FeatureSpec, Frame, MetadataKey, NodeSpec, Phase, Pool};
use quiver_interface::{Direction, FeatureNode, FeatureSettings, InterfaceFeature, InterfaceName, feature};
use quiver_ip::Family;
use quiver_ip::node::describe;
use quiver_ip::upper::Upper;
use quiver_session::key::{Flow, KeyFormat, NoFlow, flow_of};
use quiver_session::listing::ip4_end;
use quiver_session::node::input::{Entry, Input};
use quiver_session::node::lookup::Parser;
use quiver_session::tenant::TenantId;
use quiver_session::{SessionError, enter, register_parser};
use quiver_wire::V4;

/// The parser.
struct Sample;

impl Parser for Sample {
    const NODE: &'static str = "sample-ip4-parser";
    fn flow(frame: &Frame, pool: &Pool, i: usize, upper: MetadataKey<Upper>) -> Result<Flow, NoFlow> {
        flow_of::<V4>(frame, pool, i, upper)
    }
    fn describe(record: &Record) -> String {
        describe::<V4>(record)
    }
}

impl Entry for Sample {
    type Family = V4;
    const FEATURE: &'static str = "sample-ip4-parser-input";
    const LOOKUP: &'static str = Self::NODE;
}

/// Tenant of received IPv4 packets, whose sessions have the sample's keys.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "session-sample-interfaces")]
pub struct SampleInterface {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Tenant to which the packets belong.
    pub tenant: TenantId,
}

impl InterfaceFeature for SampleInterface {
    /// The slot of the tenant.
    type Setting = u32;
    const NODES: &'static [FeatureNode] = &[FeatureNode::new(
        Direction::Rx,
        FeatureSpec::new(V4::NAMES.unicast, Sample::FEATURE, Phase::Session).before(&["sfdp-interface-input-ip4"]),
    )];
    fn enables(&self, _: &FeatureNode) -> bool {
        true
    }
    fn word(&self, control: &Control, _: Direction) -> Result<u32, ObjectError> {
        enter(control, &self.tenant)
    }
}

pub(crate) fn register(control: &Control) -> Result<(), SessionError> {
    register_parser::<Sample>(control, KeyFormat { name: Sample::NODE, is_ip4: true, show: ip4_end })?;
    let words = FeatureSettings::new(control);
    let stage = Input::<Sample>::new(words.of(Direction::Rx));
    let spec = NodeSpec::stage(move |_| stage.clone()).describe(describe::<V4>);
    feature::register::<SampleInterface>(control, words, [spec])?;
    let set = "set sfdp sample-parser <interface> tenant <session-tenants> [disable]";
    let help = "Have IPv4 packets that an interface receives belong to sessions with the sample's keys; or no longer.";
    control.commands().add(Command::new(set, help, set_interface).argument("disable", "forward them without sessions"));
    Ok(())
}

fn set_interface(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let tenant = given.get("session-tenants")?;
    let object = (!given.has("disable")).then(|| SampleInterface { interface: interface.clone(), tenant });
    control.assign(&interface, object)?;
    Ok(Reply::done())
}
