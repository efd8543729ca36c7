//! Instances: what inspectors attach to, each with a queue pair for every worker.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};

use quiver_control::{Object, ObjectError};
use quiver_memif_protocol::{Interrupt, Region, RegionError, Waker};

use crate::layout::{QUEUE_SIZES, Size};
use crate::message::NAME;
use crate::pair::{Memory, Pair};
use crate::verdict::Verdict;

quiver_control::choice! {
    /// Treatment of packets while no inspector is connected.
    pub enum OnDisconnect {
        /// They are dropped.
        Drop = "drop",
        /// They pass uninspected.
        Pass = "pass",
    } as "snort-on-disconnect", "drop or pass";
}

quiver_control::reference! {
    /// The name of an instance.
    pub struct InstanceName(String) in "snort-instances";
}

/// Inspection instance: packets of its interfaces go to the inspector that is attached to it, and on by its verdicts.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "snort-instances")]
pub struct SnortInstance {
    /// Name of the instance, at most 31 bytes: the inspector's input.
    #[key]
    pub name: String,
    /// Packets of each queue that the inspector may hold, a power of two from 8 to 16384.
    #[default(1024)]
    pub queue_size: u32,
    /// Queue pairs for each worker, so that several threads can inspect a worker's flows.
    #[default(1)]
    pub queues_per_thread: u16,
    /// Disposition of packets without an inspector, and of those that it holds when it goes: drop or pass.
    #[default(OnDisconnect::Drop)]
    pub on_disconnect: OnDisconnect,
    /// Verdicts that drop a packet, a bit each: pass 1, block 2, replace 4, whitelist 8, blacklist 16, ignore 32.
    #[default(18)]
    pub drop_bitmap: u8,
    /// Seconds without packets for which a flow is remembered that the inspector has whitelisted, blacklisted or ignored: its packets
    /// pass or are dropped without it. 0 remembers none.
    #[default(120)]
    pub bypass_seconds: u32,
}

const _: () = assert!(Verdict::DROPPING == 18);

/// Queue pairs of a worker at most.
const QUEUES_MAX: u16 = 16;

/// Checks the fields of an instance.
pub(crate) fn check(instance: &SnortInstance) -> Result<(), ObjectError> {
    let wrong = |field: &str, what: String, remedy: &str| Err(ObjectError::field(field, what).remedy(remedy));
    let SnortInstance { name, queue_size, queues_per_thread, drop_bitmap, .. } = instance;
    if name.is_empty() || name.len() >= NAME || name.chars().any(|letter| letter.is_control() || letter == ':') {
        return wrong("name", format!("'{name}' is empty, too long or has a colon"), "give 1 to 31 bytes, such as ids");
    }
    if !queue_size.is_power_of_two() || !QUEUE_SIZES.contains(queue_size) {
        return wrong(
            "queue-size",
            format!("{queue_size} is no power of two from 8 to 16384"),
            "leave it out for 1024",
        );
    }
    if *queues_per_thread == 0 || *queues_per_thread > QUEUES_MAX {
        let what = format!("{queues_per_thread} is out of range (1 to {QUEUES_MAX})");
        return wrong("queues-per-thread", what, "leave it out for 1");
    }
    if usize::from(*drop_bitmap) >= 1 << Verdict::COUNT {
        return wrong(
            "drop-bitmap",
            format!("{drop_bitmap} has bits of no verdict"),
            "give 0 to 63, or leave it out for 18",
        );
    }
    Ok(())
}

/// Instances by number, as workers read them.
pub type Instances = Vec<Option<Arc<Instance>>>;

/// Why an instance cannot be made.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Descriptors could not reach all packets.
    TooLarge,
    /// The system refused memory or files.
    System(String),
}

impl From<Refused> for ObjectError {
    fn from(refused: Refused) -> ObjectError {
        match refused {
            Refused::TooLarge => ObjectError::field("queue-size", "the packets of all queues exceed 4 GB")
                .remedy("name a smaller one, or fewer queues for each thread"),
            Refused::System(why) => ObjectError::field("queue-size", format!("shared memory is refused: {why}"))
                .remedy("name a smaller one"),
        }
    }
}

impl From<RegionError> for Refused {
    fn from(error: RegionError) -> Refused {
        Refused::System(error.to_string())
    }
}

/// An instance, as workers and clients have it.
pub struct Instance {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Differs from that of any other one, also of the same name or number.
    pub serial: u64,
    /// Queue pairs, those of each worker together.
    pub pairs: Vec<Arc<Pair>>,
    queues: usize,
    pub(crate) size: Size,
    pub(crate) memory: Arc<Memory>,
    passes: AtomicBool,
    drop_bitmap: AtomicU8,
    /// In nanoseconds.
    bypass: AtomicU64,
}

impl Instance {
    /// Makes its memory and its eventfds.
    pub(crate) fn new(
        config: &SnortInstance,
        (number, serial): (u8, u64),
        workers: usize,
        waker: &Arc<Waker>,
    ) -> Result<Instance, Refused> {
        let queues = usize::from(config.queues_per_thread);
        let size = Size::new(workers * queues, config.queue_size).ok_or(Refused::TooLarge)?;
        let (region, file) = Region::create(&format!("quiver-snort-{}", config.name), size.bytes())?;
        let memory = Arc::new(Memory { region, file });
        let system = |error| Refused::System(io::Error::from(error).to_string());
        let mut pairs = vec![];
        for pair in 0..workers * queues {
            let interrupts = [Interrupt::make().map_err(system)?, Interrupt::make().map_err(system)?];
            let id = (pair / queues, (pair % queues) as u16);
            let place = (size.place(pair), size.queue());
            pairs.push(Arc::new(Pair::new(id, (&memory, number), place, interrupts, waker)));
        }
        let (passes, drop_bitmap, bypass) = Default::default();
        let (name, number) = (config.name.clone(), number.into());
        let instance = Instance { number, name, serial, pairs, queues, size, memory, passes, drop_bitmap, bypass };
        instance.configure(config);
        Ok(instance)
    }
    /// Takes over the fields that do not change its memory.
    pub(crate) fn configure(&self, config: &SnortInstance) {
        self.passes.store(config.on_disconnect == OnDisconnect::Pass, Relaxed);
        self.drop_bitmap.store(config.drop_bitmap, Relaxed);
        self.bypass.store(u64::from(config.bypass_seconds) * 1_000_000_000, Relaxed);
    }
    /// Whether packets pass without an inspector.
    pub fn passes(&self) -> bool {
        self.passes.load(Relaxed)
    }
    /// Whether a verdict drops a packet.
    pub(crate) fn drops(&self, verdict: Verdict) -> bool {
        verdict.is_in(self.drop_bitmap.load(Relaxed))
    }
    /// Nanoseconds for which flows are remembered; 0 remembers none.
    pub(crate) fn bypass(&self) -> u64 {
        self.bypass.load(Relaxed)
    }
    /// Queue pairs of a worker.
    pub(crate) fn of_worker(&self, worker: usize) -> &[Arc<Pair>] {
        self.pairs.get(worker * self.queues..(worker + 1) * self.queues).unwrap_or_default()
    }
    /// The queue pair of a worker for a flow with this hash, which is asked for where there are several.
    pub(crate) fn pair(&self, worker: usize, hash: impl FnOnce() -> u32) -> Option<&Arc<Pair>> {
        let pairs = self.of_worker(worker);
        if let [only] = pairs {
            return Some(only);
        }
        // As many hashes for each: the upper bits of a product.
        pairs.get(((u64::from(hash()) * pairs.len() as u64) >> 32) as usize)
    }
    /// Bytes of its memory.
    pub fn bytes(&self) -> usize {
        self.size.bytes()
    }
}
