//! Tenants: the context and the service chains of their sessions, and their timeouts.

use std::collections::{BTreeMap, BTreeSet};

use quiver_control::{Change, Control, LowestFree, Object, ObjectError, Record};
use quiver_engine::{Domain, Paged, Publisher, Snapshot};

use crate::expiry::{end_sessions_of, review_sessions_of};
use crate::record::Direction;
use crate::service::{CHAIN_MAX, Chain, Services};
use crate::timeouts::{TIMEOUTS_MAX, Timeouts};

/// Tenants there can be: a record has 16 bits for the slot of its tenant.
pub const TENANTS_MAX: u32 = 1 << 16;

/// Timeout of a tenant's sessions.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct TenantTimeout {
    /// Name of the timeout, such as tcp-established; `show sfdp timeouts` lists them.
    pub name: String,
    /// Seconds without packets after which sessions end.
    pub seconds: u32,
}

quiver_control::reference! {
    /// The number of a tenant.
    pub struct TenantId(u32) in "session-tenants";
}

/// Tenant: sessions with a context of their own, so that addresses may be the same as those of other tenants, and the services that
/// process their packets.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "session-tenants")]
pub struct Tenant {
    /// Number of the tenant.
    #[key]
    pub id: u32,
    /// Context of the sessions. Tenants with one context share their sessions. Default: the tenant's number.
    pub context: Option<u32>,
    /// Services that process packets from initiators, in the order of their names here. Without services packets are dropped.
    #[default(vec![])]
    pub forward: Vec<String>,
    /// Services that process packets from responders.
    #[default(vec![])]
    pub reverse: Vec<String>,
    /// Timeouts other than the defaults.
    #[default(vec![])]
    pub timeouts: Vec<TenantTimeout>,
}

impl Tenant {
    /// The context.
    pub fn context(&self) -> u32 {
        self.context.unwrap_or(self.id)
    }
    /// Services of a direction.
    pub fn services(&self, direction: Direction) -> &[String] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
    /// The same, to be changed.
    pub fn services_mut(&mut self, direction: Direction) -> &mut Vec<String> {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
    /// Values of all timeouts, by number.
    pub fn timeouts(&self, known: &Timeouts) -> [u32; TIMEOUTS_MAX] {
        let mut values = [0; TIMEOUTS_MAX];
        values.iter_mut().zip(known.all()).for_each(|(value, timeout)| *value = timeout.seconds);
        for own in &self.timeouts {
            if let Some(number) = known.number(&own.name) {
                values[number] = own.seconds;
            }
        }
        values
    }
    /// Sets a timeout by its name.
    pub fn set_timeout(&mut self, name: &str, seconds: u32) {
        match self.timeouts.iter_mut().find(|own| own.name == name) {
            Some(own) => own.seconds = seconds,
            None => self.timeouts.push(TenantTimeout { name: name.to_owned(), seconds }),
        }
    }
}

/// A tenant, as workers read it. Slots without a tenant have no services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantRow {
    /// Whether the slot has a tenant.
    pub is_there: bool,
    /// Number of the tenant.
    pub id: u32,
    /// Context of the sessions.
    pub context: u32,
    /// Chains by direction.
    pub chains: [Chain; 2],
    /// Values of timeouts in seconds, by number.
    pub timeouts: [u32; TIMEOUTS_MAX],
}

/// All tenants: a room of the control side.
pub struct Tenants {
    rows: Publisher<Paged<TenantRow>>,
    slots: BTreeMap<u32, u16>,
    /// Slots of tenants, and those whose sessions are being ended.
    taken: BTreeSet<u16>,
    free: LowestFree,
}

impl Tenants {
    pub(crate) fn new(domain: &Domain) -> Tenants {
        let (slots, taken, free) = Default::default();
        Tenants { rows: Publisher::new(domain, Paged::default()), slots, taken, free }
    }
    /// Rows for workers, by slot.
    pub fn snapshot(&self) -> Snapshot<Paged<TenantRow>> {
        self.rows.snapshot()
    }
    /// The same, as they were published last.
    pub(crate) fn rows(&self) -> Paged<TenantRow> {
        self.rows.current().clone()
    }
    /// The slot of a tenant.
    pub fn slot(&self, id: u32) -> Option<u16> {
        self.slots.get(&id).copied()
    }
    /// The row of a slot.
    pub fn row(&self, slot: u16) -> TenantRow {
        self.rows.current().get(usize::from(slot)).copied().unwrap_or_default()
    }
    /// Numbers and slots of all tenants behind the last one that was listed.
    pub fn behind(&self, last: Option<&u32>) -> Option<(u32, u16)> {
        quiver_control::behind(&self.slots, last).map(|(id, slot)| (*id, *slot))
    }
    fn set(&mut self, slot: u16, row: TenantRow) {
        let mut rows = self.rows.current().clone();
        *rows.get_mut(usize::from(slot)) = row;
        self.rows.publish(rows);
    }
    fn new_slot(&mut self, id: u32) -> Option<u16> {
        let slot = self.free.find(|slot| u16::try_from(slot).is_ok_and(|slot| self.taken.contains(&slot)));
        let slot = u16::try_from(slot).ok()?;
        self.taken.insert(slot);
        self.slots.insert(id, slot);
        Some(slot)
    }
    /// The sessions of a slot have ended: another tenant may have it.
    pub(crate) fn ended(&mut self, slot: u16) {
        self.taken.remove(&slot);
        self.free.release(slot.into());
    }
}

/// Checks a tenant on its own.
pub(crate) fn check(tenant: &Tenant) -> Result<(), ObjectError> {
    for (field, services) in [("forward", &tenant.forward), ("reverse", &tenant.reverse)] {
        if services.len() > CHAIN_MAX {
            let what = format!("there are {} services", services.len());
            return Err(ObjectError::field(field, what).remedy(format!("name at most {CHAIN_MAX}")));
        }
    }
    let mut names: Vec<_> = tenant.timeouts.iter().map(|timeout| &timeout.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ObjectError::field("timeouts", format!("`{}` is set twice", pair[0])).remedy("set it once")),
        None => Ok(()),
    }
}

/// The chain of services by their names.
fn chain(control: &Control, field: &str, names: &[String]) -> Result<Chain, ObjectError> {
    let services = control.room::<Services>();
    let mut numbers = vec![];
    for name in names {
        let number = services.number(name).ok_or_else(|| {
            let known: Vec<_> = services.all().iter().map(|service| service.name).collect();
            ObjectError::field(field, format!("there is no service `{name}`"))
                .remedy(format!("name some of {}", known.join(", ")))
        })?;
        if numbers.contains(&number) {
            return Err(ObjectError::field(field, format!("`{name}` is named twice")).remedy("name it once"));
        }
        numbers.push(number);
    }
    let is_terminal = |number: &u8| services.all()[usize::from(*number)].is_terminal;
    if let Some(place) = numbers.iter().position(is_terminal).filter(|place| place + 1 < numbers.len()) {
        let what = format!("`{}` ends the chain, but `{}` stands behind it", names[place], names[place + 1]);
        return Err(ObjectError::field(field, what).remedy(format!("move `{}` to the end", names[place])));
    }
    Ok(Chain::new(&numbers))
}

pub(crate) fn apply(control: &Control, change: Change<'_, Tenant>) -> Result<(), ObjectError> {
    let (tenant, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    if !is_wanted {
        let mut tenants = control.room_mut::<Tenants>();
        if let Some(slot) = tenants.slots.remove(&tenant.id) {
            tenants.set(slot, TenantRow::default());
            drop(tenants);
            end_sessions_of(control, slot);
        }
        return Ok(());
    }
    let chains = [chain(control, "forward", &tenant.forward)?, chain(control, "reverse", &tenant.reverse)?];
    let timeouts = {
        let known = control.room::<Timeouts>();
        if let Some(own) = tenant.timeouts.iter().find(|own| known.number(&own.name).is_none()) {
            let names: Vec<_> = known.all().iter().map(|timeout| timeout.name).collect();
            return Err(ObjectError::field("timeouts", format!("there is no timeout `{}`", own.name))
                .remedy(format!("name some of {}", names.join(", "))));
        }
        tenant.timeouts(&known)
    };
    let mut tenants = control.room_mut::<Tenants>();
    let slot = match tenants.slot(tenant.id) {
        Some(slot) => slot,
        None => tenants.new_slot(tenant.id).ok_or_else(|| {
            ObjectError::whole(format!("there are {TENANTS_MAX} tenants already")).remedy("delete one of them")
        })?,
    };
    let old = tenants.row(slot);
    let new = TenantRow { is_there: true, id: tenant.id, context: tenant.context(), chains, timeouts };
    tenants.set(slot, new);
    drop(tenants);
    if old.is_there && (old.context, old.timeouts) != (new.context, new.timeouts) {
        review_sessions_of(control, slot);
    }
    Ok(())
}
