//! A line with planted faults, for tests of drivers: what is sent into one end, `line0` or `line1`, comes out of the other late, twice,
//! out of order, or not at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::{
    ArcSpec, Batch, Dataplane, DataplaneError, Frame, NodeId, RxContext, RxQueue, To, TxContext, TxQueue,
};
use quiver_interface::NewInterface;
use quiver_interface::interfaces::Queues;
use quiver_wire::MacAddress;

/// The way of what comes out.
const RECEIVED: ArcSpec = ArcSpec { name: "received", to: To::Features("device-input") };

/// Nanoseconds after which each copy of the packet of a number comes out: none, and it is lost.
pub type Plan = fn(u64) -> Vec<u64>;

/// An end of the line: `line0` is where packets go in, `line1` where they come out.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "lines", provides = "interface")]
pub struct End {
    /// The name of the interface.
    #[key]
    pub name: String,
}

/// The room: the node of the line's ends, and both directions: from `line0` to `line1`, and back.
struct Line {
    input: NodeId,
    ways: Option<[Arc<Mutex<Wire>>; 2]>,
}

/// Registers lines. Interfaces are registered before.
///
/// # Errors
/// There is a node of that name.
pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("line-input", &[RECEIVED])?;
    control.insert_room(Line { input, ways: None });
    control.objects().add(Kind::new(apply));
    Ok(())
}

/// A packet that went into the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// How often it comes out.
    pub copies: usize,
}

/// One direction of the line.
struct Wire {
    plan: Plan,
    sent: u64,
    /// How many of them do not come out.
    dropped: u64,
    /// All packets that went in, if they are kept.
    log: Option<Vec<Sent>>,
    /// Packets by exit, by the moment when they come out and their place in the sending order.
    packets: Vec<BTreeMap<(u64, u64), Vec<u8>>>,
}

struct Entrance(Arc<Mutex<Wire>>);
struct Exit(Arc<Mutex<Wire>>, usize);

impl TxQueue for Entrance {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let mut wire = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for i in 0..batch.len() {
            let bytes: Vec<u8> = batch.segments(cx.pool, i).flatten().copied().collect();
            let (number, exits) = (wire.sent, wire.packets.len());
            let delays = (wire.plan)(number);
            let copies = delays.len();
            wire.dropped += u64::from(copies == 0);
            wire.log.iter_mut().for_each(|log| log.push(Sent { bytes: bytes.clone(), copies }));
            for (copy, delay) in delays.into_iter().enumerate() {
                let place = (cx.now + delay, number << 8 | copy as u64);
                wire.packets[number as usize % exits].insert(place, bytes.clone());
            }
            wire.sent += 1;
        }
        batch.len()
    }
}

impl RxQueue for Exit {
    fn receive(&mut self, cx: &mut RxContext, frame: &mut Frame) -> usize {
        let mut wire = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while frame.len() < cx.most
            && let Some(first) = wire.packets[self.1].first_entry().filter(|first| first.key().0 <= cx.now)
        {
            assert!(frame.push_bytes(cx.pool, &first.remove(), cx.interface), "there are buffers");
        }
        frame.len()
    }
    fn wake_at(&self) -> Option<u64> {
        let wire = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(wire.packets[self.1].first_key_value().map_or(u64::MAX, |(place, _)| place.0))
    }
}

/// Makes a line whose end `line1` has a receive queue for each worker, among which packets are dealt out in turn. Nothing comes back.
pub fn create(control: &Control, plan: Plan) {
    make(control, [plan, |_| vec![]], false);
}

/// Makes a line with faults in both directions, from `line0` to `line1` and back; if `is_kept`, it keeps all packets: see [`log`].
pub fn create_both(control: &Control, plans: [Plan; 2], is_kept: bool) {
    make(control, plans, is_kept);
}

/// Packets that went into the line in both directions, and how many of them did not come out.
pub fn counts(control: &Control) -> [(u64, u64); 2] {
    let room = control.room::<Line>();
    let of = |way: &Arc<Mutex<Wire>>| {
        let wire = way.lock().unwrap_or_else(PoisonError::into_inner);
        (wire.sent, wire.dropped)
    };
    room.ways.as_ref().map(|ways| [0, 1].map(|way| of(&ways[way]))).unwrap_or_default()
}

/// The packets that went into the line so far, in both directions.
pub fn log(control: &Control) -> [Vec<Sent>; 2] {
    let room = control.room::<Line>();
    let of =
        |way: &Arc<Mutex<Wire>>| way.lock().unwrap_or_else(PoisonError::into_inner).log.clone().unwrap_or_default();
    room.ways.as_ref().map(|ways| [0, 1].map(|way| of(&ways[way]))).unwrap_or_default()
}

fn make(control: &Control, plans: [Plan; 2], is_kept: bool) {
    let workers = control.room::<Dataplane>().workers();
    let wire =
        |plan| Wire { plan, sent: 0, dropped: 0, log: is_kept.then(Vec::new), packets: vec![BTreeMap::new(); workers] };
    control.room_mut::<Line>().ways = Some(plans.map(|plan| Arc::new(Mutex::new(wire(plan)))));
    for name in ["line0", "line1"] {
        control.put(End::new(name.into())).expect("there is room");
    }
}

fn apply(control: &Control, change: Change<'_, End>) -> Result<(), ObjectError> {
    let Change::Create(end) = change else { return Ok(()) };
    let workers = control.room::<Dataplane>().workers();
    let queues = {
        let room = control.room::<Line>();
        let ways = room.ways.as_ref().expect("a line was made");
        let [into, out] = if end.name == "line0" { [&ways[0], &ways[1]] } else { [&ways[1], &ways[0]] };
        let entrance = |_| -> Box<dyn TxQueue> { Box::new(Entrance(into.clone())) };
        let exit = |queue| -> Box<dyn RxQueue> { Box::new(Exit(out.clone(), queue)) };
        Queues { input: room.input, rx: (0..workers).map(exit).collect(), tx: (0..workers).map(entrance).collect() }
    };
    let mac = MacAddress([2, 0, 0, 0, 9, 9]);
    let new = NewInterface { name: end.name.clone(), kind: "line", mac, mtu: 9000, parent: None, queues: Some(queues) };
    quiver_interface::create(control, new).map(drop)
}
