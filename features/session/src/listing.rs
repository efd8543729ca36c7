//! Sessions, as commands and messages list them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{Ordering::Acquire, fence};

use quiver_control::Control;

use crate::key::{End, Key};
use crate::record::{Direction, GENERATION, Identity, OWNED_MAX, Record, Status};
use crate::room::Room;
use crate::sessions::{Sessions, TICKS, remaining};
use crate::tenant::{TenantRow, Tenants};

/// A session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listed {
    /// Number of the worker that owns it.
    pub worker: usize,
    /// Index of its record.
    pub index: u32,
    /// Key.
    pub key: Key,
    /// The part of its record that is constant.
    pub identity: Identity,
    /// The part of its record that changes with packets.
    pub status: Status,
    /// Tenant.
    pub tenant: TenantRow,
    /// Packets and bytes by direction.
    pub traffic: [(u64, u64); 2],
    /// Seconds until it ends if no packet comes.
    pub remaining: f64,
    /// Seconds since it began.
    pub age: f64,
}

impl Listed {
    /// The session of a record, if there is one.
    pub fn of(control: &Control, sessions: &Sessions, (worker, index): (usize, u32)) -> Option<Listed> {
        let owned = sessions.of(worker)?;
        let record = owned.records.get(index)?;
        let (key, identity) = (record.key()?, record.identity());
        let tenant = control.room::<Tenants>().row(identity.tenant());
        // The sessions of a deleted tenant are being ended.
        if !tenant.is_there {
            return None;
        }
        let ticks = owned.time_of_control(control.now().0).ticks();
        let left = remaining(record, (&tenant, sessions.left(&tenant)), ticks).unwrap_or_default();
        let listed = Listed {
            worker,
            index,
            key,
            identity,
            status: record.status(),
            tenant,
            traffic: Direction::ALL.map(|direction| record.traffic(direction)),
            remaining: f64::from(left) / f64::from(TICKS),
            age: f64::from(age(record, ticks)) / f64::from(TICKS),
        };
        // Its worker may have ended it while it was read.
        fence(Acquire);
        (record.identity() == identity).then_some(listed)
    }
    /// The number by which clients know it for good: generation, worker and record.
    pub fn id(&self) -> u64 {
        u64::from(self.identity.generation()) << 32 | u64::from(self.number())
    }
    /// The number of its record, by which clients end it: worker and index.
    pub fn number(&self) -> u32 {
        (self.worker * OWNED_MAX) as u32 | self.index
    }
    /// The number of the owner's thread, as `show threads` has it: the first one is the main one.
    pub fn thread(&self) -> u32 {
        self.worker as u32 + 1
    }
    /// Initiator and responder.
    pub fn ends(&self) -> [End; 2] {
        let (low, high) = (self.key.low(), self.key.high());
        if self.identity.is_from_high() { [high, low] } else { [low, high] }
    }
    /// The address of an end.
    pub fn address(&self, end: End) -> IpAddr {
        match self.key.is_ip6() {
            true => Ipv6Addr::from(end.address).into(),
            false => Ipv4Addr::from(end.address as u32).into(),
        }
    }
}

/// Ticks since a session began.
fn age(record: &Record, ticks: u32) -> u32 {
    /// Its worker's clock may be ahead of the time that was read.
    const AHEAD: u32 = 60 * TICKS;
    let passed = ticks.wrapping_sub(record.begun());
    if passed > u32::MAX - AHEAD { 0 } else { passed }
}

/// Text of an end of IPv4.
pub fn ip4_end(end: End) -> String {
    format!("{}:{}", Ipv4Addr::from(end.address as u32), end.port)
}

/// Text of an end of IPv6.
pub fn ip6_end(end: End) -> String {
    format!("[{}]:{}", Ipv6Addr::from(end.address), end.port)
}

/// Worker and record of a number.
pub fn place(number: u32) -> (usize, u32) {
    (number as usize / OWNED_MAX, number % OWNED_MAX as u32)
}

/// The session of an id.
pub fn find(control: &Control, id: u64) -> Option<Listed> {
    let sessions = control.room::<Room>().sessions()?;
    let listed = Listed::of(control, &sessions, place(id as u32))?;
    (u64::from(listed.identity.generation()) == id >> 32 & u64::from(GENERATION)).then_some(listed)
}

/// All sessions, worker by worker. A step finds a session or none, so that many free records take several turns.
pub fn all(control: &Control) -> impl Iterator<Item = Option<Listed>> + use<> {
    let sessions: Option<Arc<Sessions>> = control.room::<Room>().sessions();
    let control = control.clone();
    sessions.into_iter().flat_map(move |sessions| {
        let control = control.clone();
        (0..sessions.workers()).flat_map(move |worker| {
            let (sessions, control) = (sessions.clone(), control.clone());
            let records = sessions.of(worker).map_or(0, |owned| owned.records.allocated());
            (0..records).map(move |index| Listed::of(&control, &sessions, (worker, index)))
        })
    })
}
