//! Addresses under detection. Each is tentative, and not used, until all probes have remained without an answer (RFC
//! 4862, 5.4); clients are told.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::rc::Rc;

use quiver_control::{Change, Control, ObjectError, Signal, Time, behind};
use quiver_interface::{InterfaceEvent, InterfaceId, Interfaces, watch};
use quiver_ip::{Family, Ip6};
use quiver_neighbor::{look, probe};
use quiver_wire::{Icmp6Type, V6};

pub use crate::address::{Address, State};
use crate::api::event::Listeners;
use crate::objects::DuplicateAddressDetection;

/// Progress of duplicate address detection for an address.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// State of the address.
    pub state: State,
    /// Probes sent so far.
    pub asked: u8,
    /// Time of the next probe, or of the end of the wait after the last one.
    due: Time,
    /// Whether clients were told that the check is running.
    told: bool,
}

/// The room.
pub struct Checks {
    settings: Option<DuplicateAddressDetection>,
    all: BTreeMap<Address, Check>,
    /// Addresses that another host uses or probes for, as heard since the last look.
    taken: Rc<RefCell<Vec<Address>>>,
    more: Signal,
    pub(crate) listeners: Option<Rc<Listeners>>,
}

impl Checks {
    /// Switches detection on or off. Existing addresses are in use already, and are not checked.
    pub(crate) fn set(&mut self, control: &Control, settings: Option<DuplicateAddressDetection>) {
        if settings.is_none() {
            let mut ip = control.room_mut::<Ip6>();
            std::mem::take(&mut self.all).into_keys().for_each(|(id, address)| ip.set_usable(id, address, true));
        }
        self.settings = settings;
        self.more.notify();
    }
    /// All addresses that were looked at.
    pub fn behind(&self, last: Option<&Address>) -> Option<(&Address, &Check)> {
        behind(&self.all, last)
    }
    fn tell(&mut self, control: &Control, address: Address, state: State, asked: u8, due: Time) {
        // RFC 4862, 5.4: until nobody has answered, and where somebody has, the address is not used.
        control.room_mut::<Ip6>().set_usable(address.0, address.1, state == State::Preferred);
        self.all.insert(address, Check { state, asked, due, told: true });
        if let (Some(listeners), Some(settings)) = (&self.listeners, &self.settings) {
            listeners.tell(address, state, asked, settings.transmits);
        }
        self.more.notify();
    }
    /// The address about which something is to be done first.
    fn next(&self) -> Option<(Address, Check)> {
        let tentative =
            self.all.iter().filter(|(address, check)| check.state == State::Tentative && !self.waits(address));
        tentative.min_by_key(|(_, check)| check.due).map(|(address, check)| (*address, *check))
    }
    /// Whether an address waits for others. Of an interface, that for its link comes last: people wait for those that they
    /// configured.
    fn waits(&self, (id, address): &Address) -> bool {
        let of_it = (*id, Ipv6Addr::UNSPECIFIED)..=(*id, Ipv6Addr::from(u128::MAX));
        let is_first =
            |(other, check): (&Address, &Check)| check.state == State::Tentative && !V6::is_link_local(other.1);
        V6::is_link_local(*address) && self.all.range(of_it).any(is_first)
    }
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Checks {
        settings: None,
        all: BTreeMap::new(),
        taken: Rc::default(),
        more: Signal::new(),
        listeners: None,
    });
    control.spawn("duplicate address detection", ask(control.clone()));
    watch(control, |control, event| match event {
        InterfaceEvent::AddressAdded(id, IpAddr::V6(address)) => begin(control, (id, address)),
        InterfaceEvent::AddressRemoved(id) | InterfaceEvent::Removed(id) => forget(control, id),
        // RFC 4862, 5.4: when an interface comes up, its addresses are looked at anew.
        InterfaceEvent::AdminState(id) | InterfaceEvent::Link(id) => {
            keep(control, |(on, _)| *on != id);
            let own = |ip: &Ip6| Some(ip.current().interfaces.get(id.index())?.own().collect::<Vec<_>>());
            let addresses = own(&control.room::<Ip6>()).unwrap_or_default();
            addresses.into_iter().for_each(|address| begin(control, (id, address)));
        }
        _ => {}
    });
    let (taken, more) = {
        let checks = control.room::<Checks>();
        (checks.taken.clone(), checks.more.clone())
    };
    look::<V6>(control, move |interface, message| {
        let is_taken = match message.kind {
            Icmp6Type::NEIGHBOR_ADVERTISEMENT => true,
            // RFC 4862, 5.4.3: another one that wants it, too. Others want to speak to whoever has it.
            _ => message.source.is_unspecified(),
        };
        if is_taken {
            taken.borrow_mut().push((interface, message.target));
            more.notify();
        }
    });
}

pub(crate) fn apply(control: &Control, change: Change<'_, DuplicateAddressDetection>) -> Result<(), ObjectError> {
    let wanted = match change {
        Change::Create(new) | Change::Update { new, .. } => Some(new.clone()),
        Change::Delete(_) => None,
    };
    control.room_mut::<Checks>().set(control, wanted);
    Ok(())
}

fn is_usable(control: &Control, id: InterfaceId) -> bool {
    let interfaces = control.room::<Interfaces>();
    interfaces.is_usable(id) && interfaces.get(id).is_some_and(|interface| !interface.point_to_point)
}

/// An address has come to a link.
fn begin(control: &Control, address: Address) {
    if address.1.is_loopback() || !is_usable(control, address.0) {
        return;
    }
    let (now, mut checks) = (control.now(), control.room_mut::<Checks>());
    if checks.settings.is_none() {
        return;
    }
    match checks.waits(&address) {
        true => {
            control.room_mut::<Ip6>().set_usable(address.0, address.1, false);
            checks.all.insert(address, Check { state: State::Tentative, asked: 0, due: now, told: false });
        }
        false => checks.tell(control, address, State::Tentative, 0, now),
    }
}

/// Forgets the addresses that an interface has no more.
fn forget(control: &Control, id: InterfaceId) {
    let own = |ip: &Ip6| -> Vec<Ipv6Addr> {
        ip.current().interfaces.get(id.index()).map_or(vec![], |interface| interface.own().collect())
    };
    let own = own(&control.room::<Ip6>());
    keep(control, |(on, address)| *on != id || own.contains(address));
}

/// Forgets the addresses that are not to be kept.
fn keep(control: &Control, wanted: impl Fn(&Address) -> bool) {
    let (mut checks, mut ip) = (control.room_mut::<Checks>(), control.room_mut::<Ip6>());
    checks.all.retain(|address, _| {
        wanted(address) || {
            ip.set_usable(address.0, address.1, true);
            false
        }
    });
}

/// Handles another host's use of an address, or its probe for it.
fn conflict(control: &Control, address: Address) {
    let (now, mut checks) = (control.now(), control.room_mut::<Checks>());
    let tentative = checks.all.get(&address).filter(|check| check.state == State::Tentative).copied();
    let Some(check) = tentative else { return };
    checks.tell(control, address, State::Duplicate, check.asked, now);
    drop(checks);
    let name = control.room::<Interfaces>().name(address.0);
    tracing::warn!("{name}: another host has our address {}; configure another one", address.1);
}

/// Asks about all tentative addresses.
async fn ask(control: Control) {
    loop {
        let more = control.room::<Checks>().more.changed();
        let taken = control.room::<Checks>().taken.take();
        taken.into_iter().for_each(|address| conflict(&control, address));
        let (now, next) = (control.now(), control.room::<Checks>().next());
        match next {
            None => more.await,
            Some((_, check)) if check.due > now => drop(control.timeout(check.due.since(now), more).await),
            Some((address, check)) => step(&control, address, check),
        }
    }
}

/// The next question about an address, or the end.
fn step(control: &Control, address: Address, check: Check) {
    let settings = control.room::<Checks>().settings.clone();
    let Some(settings) = settings else { return };
    let now = control.now();
    if !check.told {
        return control.room_mut::<Checks>().tell(control, address, State::Tentative, 0, now);
    }
    if check.asked >= settings.transmits {
        control.room_mut::<Checks>().tell(control, address, State::Preferred, check.asked, now);
        // RFC 4861, 7.2.6: who knew another one there is told.
        return quiver_neighbor::announce_asked::<V6>(control, address);
    }
    probe::<V6>(control, address);
    control.room_mut::<Checks>().tell(control, address, State::Tentative, check.asked + 1, now + settings.delay.0);
}
