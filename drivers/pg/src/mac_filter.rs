//! `pg-input-mac-filter`: an interface receives as a device does that was not asked for everything. Frames to its own address, to
//! all stations and to groups come in, those to other stations do not.
//!
//! Drops: `other-station`.

use std::collections::HashMap;

use quiver_control::cli::{Command, CommandError, Matches, Reply};
use quiver_control::{Control, ObjectError};
use quiver_engine::{
    Context, Dataplane, DataplaneError, FeatureSpec, Frame, Node, NodeSpec, Phase, Publisher, Seed, Snapshot, arcs,
};
use quiver_interface::{InterfaceEvent, InterfaceId, InterfaceName, Interfaces, decides, watch};
use quiver_wire::{EthernetHeader, Header, MacAddress};

use crate::interface::PacketGenerator;

/// The node's name.
pub(crate) const NAME: &str = "pg-input-mac-filter";
/// Where it stands.
const DEVICE_INPUT: &str = "device-input";

arcs! {
    /// Where frames go from `pg-input-mac-filter`.
    enum Next {
        Pass => next_feature,
        OtherStation => drop "other-station",
    }
}

/// The addresses of the interfaces that filter, by number.
type Own = HashMap<u32, MacAddress>;

/// Control's copy of the filters.
struct Filters {
    own: Own,
    published: Publisher<Own>,
}

impl Filters {
    fn change(&mut self, change: impl FnOnce(&mut Own)) {
        change(&mut self.own);
        self.published.publish(self.own.clone());
    }
}

struct MacFilter(Snapshot<Own>);

impl Node for MacFilter {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        let own = self.0.read(cx.guard);
        for i in 0..frame.len() {
            // What is too short for a header is nobody's: `ethernet-input` says so.
            let destination = EthernetHeader::parse(frame.bytes(cx.pool, i)).map(|(header, _)| header.destination);
            let is_meant = |to: MacAddress| to.is_multicast() || own.get(&frame.rx[i]).is_none_or(|own| *own == to);
            let next = if destination.is_none_or(is_meant) { Next::Pass } else { Next::OtherStation };
            frame.next[i] = next.into();
        }
    }
}

pub(crate) fn register(control: &Control) -> Result<(), DataplaneError> {
    let filters = {
        let mut dataplane = control.room_mut::<Dataplane>();
        let published = Publisher::new(dataplane.domain(), HashMap::new());
        let own = published.snapshot();
        let graph = dataplane.blueprint();
        graph.node(NodeSpec::new(NAME, Next::ARCS, move |_: Seed| MacFilter(own.clone())))?;
        graph.feature(FeatureSpec::new(DEVICE_INPUT, NAME, Phase::Device))?;
        Filters { own: HashMap::new(), published }
    };
    control.insert_room(filters);
    decides(control, NAME, |control, record| {
        let name = control.room::<Interfaces>().name(InterfaceId(record.rx));
        Some(format!("packet-generators {name}"))
    });
    let grammar = "packet-generator mac-filter <interface> (on|off)";
    let help = "Enable or disable the MAC filter of a packet generator interface: only frames to itself, multicast and broadcast.";
    control.commands().add(Command::new(grammar, help, command));
    watch(control, |control, event| {
        let InterfaceEvent::Mac(id) = event else { return };
        let mac = control.room::<Interfaces>().get(id).map(|interface| interface.mac);
        let filters = &mut *control.room_mut::<Filters>();
        if let (Some(mac), true) = (mac, filters.own.contains_key(&id.0)) {
            filters.change(|own| _ = own.insert(id.0, mac));
        }
    });
    Ok(())
}

/// Switches the filter of an interface on or off.
pub(crate) fn set(control: &Control, id: InterfaceId, mac: MacAddress, on: bool) -> Result<(), ObjectError> {
    // Whoever begins to filter knows its address first.
    if on {
        control.room_mut::<Filters>().change(|own| _ = own.insert(id.0, mac));
    }
    let enabled = control.room_mut::<Dataplane>().enable(DEVICE_INPUT, NAME, id.0, on);
    if !on {
        control.room_mut::<Filters>().change(|own| _ = own.remove(&id.0));
    }
    enabled.map_err(|error| ObjectError::field("mac-filter", error.to_string()))
}

fn command(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let name: InterfaceName = matches.get("interface")?;
    let Some(generator) = control.objects().get::<PacketGenerator>(&name.0) else {
        let what = format!("{name} is no packet generator");
        return Err(CommandError::new(what).at(matches.place("interface")));
    };
    control.put(PacketGenerator { mac_filter: matches.has("on"), ..PacketGenerator::clone(&generator) })?;
    Ok(Reply::done())
}
