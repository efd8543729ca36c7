//! `want_l2_macs_events`: clients are told of addresses as they are learned, move and age, in batches.

use std::cell::Cell;
use std::time::Duration;

use quiver_compat::api::{Adding, Call};
use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Subscribers, Wire};
use quiver_control::Control;
use quiver_wire::MacAddress;

use crate::bridges::Bridges;
use crate::learning::settle;
use crate::macs::{MacEvent, Walk};

/// Subscribers and settings of MAC events.
struct MacEvents {
    subscribers: Subscribers<L2MacsEvent>,
    /// Largest number of addresses in an event.
    batch: Cell<usize>,
    /// Time for which changes are gathered.
    delay: Cell<Duration>,
}

/// Unit of the delay in clients' messages.
const DELAY_UNIT: Duration = Duration::from_millis(10);
/// VPP's limit of all learned addresses.
const LEARN_LIMIT_MAX: u32 = 16 << 20;

/// Subscribes to or unsubscribes from MAC learning events, and sets the learn limit and the event interval.
#[derive(Message, Clone, Debug)]
#[message(request, events(L2MacsEvent))]
pub(super) struct WantL2MacsEvents {
    #[default(1000)]
    pub learn_limit: u32,
    #[default(10)]
    pub scan_delay: u8,
    #[default(10)]
    pub max_macs_in_event: u8,
    #[default(true)]
    pub enable_disable: bool,
    pub pid: u32,
}

/// Subscribes to or unsubscribes from MAC learning events; the learn limit and the event interval stay as they are.
#[derive(Message, Clone, Debug)]
#[message(request, name = "want_l2_macs_events2")]
pub(super) struct WantL2MacsEvents2 {
    #[default(10)]
    pub max_macs_in_event: u8,
    #[default(true)]
    pub enable_disable: bool,
    pub pid: u32,
}

/// Sets the interval between MAC learning events, in units of 10 ms.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct L2fibSetScanDelay {
    #[default(10)]
    pub scan_delay: u16,
}

/// Lists MAC addresses that were learned, have moved or aged out.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
pub(super) struct L2MacsEvent {
    #[count(u32, "n_macs")]
    pub mac: Vec<ChangedMac>,
}

/// An address, where it is, and what became of it.
#[derive(Wire, Clone, Debug, PartialEq)]
#[wire(name = "mac_entry")]
pub(super) struct ChangedMac {
    pub sw_if_index: InterfaceIndex,
    pub mac_addr: MacAddress,
    pub action: MacEventAction,
    pub flags: u8,
}

/// Kind of a change of a MAC address.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum MacEventAction {
    /// The address was learned.
    #[value("MAC_EVENT_ACTION_API_ADD")]
    Add = 0,
    /// The address aged out.
    #[value("MAC_EVENT_ACTION_API_DELETE")]
    Delete = 1,
    /// The address moved to another interface.
    #[value("MAC_EVENT_ACTION_API_MOVE")]
    Move = 2,
}

pub(super) fn add_messages(control: &Control, file: &mut Adding<'_>) {
    let subscribers = Subscribers::new(file.event::<L2MacsEvent>());
    control.insert_room(MacEvents { subscribers, batch: Cell::new(100), delay: Cell::new(10 * DELAY_UNIT) });
    file.call(|call, request: WantL2MacsEvents| {
        if !request.enable_disable {
            return want(call, request.pid, 0, false);
        }
        if request.scan_delay == 0 || !(1..=LEARN_LIMIT_MAX).contains(&request.learn_limit) {
            let what = format!("scan_delay is at least 1, learn_limit 1 to {LEARN_LIMIT_MAX}");
            return Err(Refusal::new(Retval::INVALID_VALUE, what));
        }
        want(call, request.pid, request.max_macs_in_event, true)?;
        call.control.room::<MacEvents>().delay.set(u32::from(request.scan_delay) * DELAY_UNIT);
        call.control.room_mut::<Bridges>().macs.learned_max = request.learn_limit as usize;
        Ok(())
    });
    file.call(|call, request: WantL2MacsEvents2| {
        want(call, request.pid, request.max_macs_in_event, request.enable_disable)
    });
    file.request(|control, request: L2fibSetScanDelay| match request.scan_delay {
        0 => Err(Refusal::new(Retval::INVALID_VALUE, "scan_delay: 0 is out of range; at least 1")),
        delay => {
            control.room::<MacEvents>().delay.set(u32::from(delay) * DELAY_UNIT);
            Ok(())
        }
    });
}

/// Switches a client's events on or off; an event carries at most ten times `tens` addresses.
fn want(call: &Call, pid: u32, tens: u8, wanted: bool) -> Result<(), Refusal> {
    if wanted && tens == 0 {
        return Err(Refusal::new(Retval::INVALID_VALUE, "max_macs_in_event: 0 is out of range; at least 1"));
    }
    let control = &call.control;
    let events = control.room::<MacEvents>();
    events.subscribers.set(&call.client, pid, wanted);
    if wanted {
        events.batch.set(10 * usize::from(tens));
        // As in VPP: who wants to be told is told of all.
        settle(control);
        let (macs, mut walk) = (&mut control.room_mut::<Bridges>().macs, Walk::default());
        while macs.forget_learned(&mut walk, None, None) {}
        macs.changes.get_or_insert_default();
    } else if events.subscribers.is_empty() {
        forget(control);
    }
    Ok(())
}

/// Ends the events. The limit that clients had set goes with them.
fn forget(control: &Control) {
    let macs = &mut control.room_mut::<Bridges>().macs;
    (macs.changes, macs.learned_max) = (None, usize::MAX);
}

/// Starts the task that tells clients.
pub(super) fn spawn_task(control: &Control) {
    let here = control.clone();
    control.spawn("l2-mac-events", async move {
        let signal = here.room::<Bridges>().macs.changed.clone();
        loop {
            let changed = signal.changed();
            if here.room::<Bridges>().macs.changes.as_ref().is_none_or(Vec::is_empty) {
                changed.await;
            }
            let delay = here.room::<MacEvents>().delay.get();
            here.sleep(delay).await;
            tell(&here);
        }
    });
}

fn tell(control: &Control) {
    let events = control.room::<MacEvents>();
    if events.subscribers.is_empty() {
        forget(control);
        return;
    }
    let changes = control.room_mut::<Bridges>().macs.changes.as_mut().map(std::mem::take).unwrap_or_default();
    for some in changes.chunks(events.batch.get()) {
        let mac = some.iter().map(|change| ChangedMac {
            sw_if_index: change.interface.into(),
            mac_addr: change.mac,
            action: match change.what {
                MacEvent::Added => MacEventAction::Add,
                MacEvent::Aged => MacEventAction::Delete,
                MacEvent::Moved => MacEventAction::Move,
            },
            flags: 0,
        });
        events.subscribers.tell(&L2MacsEvent { mac: mac.collect() });
    }
}
