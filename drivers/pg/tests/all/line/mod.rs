//! A line with planted faults: what is sent into `line0` comes out of `line1` late, twice, out of order, or not at all.

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

/// The room: the node of the line's end, and the line's faults.
struct Line {
    input: NodeId,
    wire: Option<(Arc<Mutex<Wire>>, Plan)>,
}

pub fn register(control: &Control) -> Result<(), DataplaneError> {
    let input = control.room_mut::<Dataplane>().blueprint().input("line-input", &[RECEIVED])?;
    control.insert_room(Line { input, wire: None });
    control.objects().add(Kind::new(apply));
    Ok(())
}

/// Packets on the line.
struct Wire {
    sent: u64,
    /// Packets by exit, by the moment when they come out and their place in the sending order.
    packets: Vec<BTreeMap<(u64, u64), Vec<u8>>>,
}

struct Entrance(Arc<Mutex<Wire>>, Plan);
struct Exit(Arc<Mutex<Wire>>, usize);
/// The unused directions of a line.
struct Closed;

impl TxQueue for Entrance {
    fn transmit(&mut self, cx: &mut TxContext, batch: &mut Batch) -> usize {
        let mut wire = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for i in 0..batch.len() {
            let bytes: Vec<u8> = batch.segments(cx.pool, i).flatten().copied().collect();
            let (number, exits) = (wire.sent, wire.packets.len());
            for (copy, delay) in self.1(number).into_iter().enumerate() {
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

impl TxQueue for Closed {
    fn transmit(&mut self, _: &mut TxContext, batch: &mut Batch) -> usize {
        batch.len()
    }
}

/// Makes a line whose other end has a receive queue for each worker, among which packets are dealt out in turn.
pub fn create(control: &Control, plan: Plan) {
    let packets = vec![BTreeMap::new(); control.room::<Dataplane>().workers()];
    control.room_mut::<Line>().wire = Some((Arc::new(Mutex::new(Wire { sent: 0, packets })), plan));
    for name in ["line0", "line1"] {
        control.put(End::new(name.into())).expect("there is room");
    }
}

fn apply(control: &Control, change: Change<'_, End>) -> Result<(), ObjectError> {
    let Change::Create(end) = change else { return Ok(()) };
    let workers = control.room::<Dataplane>().workers();
    let queues = {
        let room = control.room::<Line>();
        let (wire, plan) = room.wire.as_ref().expect("a line was made");
        let entrance = |_| -> Box<dyn TxQueue> { Box::new(Entrance(wire.clone(), *plan)) };
        let exit = |queue| -> Box<dyn RxQueue> { Box::new(Exit(wire.clone(), queue)) };
        match end.name.as_str() {
            "line0" => Queues { input: room.input, rx: vec![], tx: (0..workers).map(entrance).collect() },
            _ => {
                let tx = (0..workers).map(|_| -> Box<dyn TxQueue> { Box::new(Closed) }).collect();
                Queues { input: room.input, rx: (0..workers).map(exit).collect(), tx }
            }
        }
    };
    let mac = MacAddress([2, 0, 0, 0, 9, 9]);
    let new = NewInterface { name: end.name.clone(), kind: "line", mac, mtu: 9000, parent: None, queues: Some(queues) };
    quiver_interface::create(control, new).map(drop)
}
