//! Rate limit of ICMP errors (RFC 1812, 4.3.2.8; RFC 4443, 2.4 (f)): a token bucket in each worker.

use std::marker::PhantomData;

use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::{Dataplane, Publisher, Snapshot};
use quiver_wire::{V4, V6};

use crate::family::Icmp;

/// Rate limit of ICMP errors, per worker.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::LIMITS)]
pub struct IcmpErrorLimits<F: Icmp> {
    /// Always `default`: there is one such object.
    #[key]
    pub name: String,
    /// ICMP errors per second in the long run; 0 disables them.
    #[default(1000)]
    pub rate: u32,
    /// Largest burst of ICMP errors.
    #[default(100)]
    pub burst: u32,
    /// The limits of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Icmp> IcmpErrorLimits<F> {
    /// The only name.
    pub const NAME: &str = "default";
    fn unchanged() -> IcmpErrorLimits<F> {
        IcmpErrorLimits::new(IcmpErrorLimits::<F>::NAME.to_owned())
    }
    fn current(control: &Control) -> IcmpErrorLimits<F> {
        let configured = control.objects().get::<IcmpErrorLimits<F>>(&IcmpErrorLimits::<F>::NAME.to_owned());
        configured.map_or_else(IcmpErrorLimits::unchanged, |limits| (*limits).clone())
    }
}

/// Largest configurable rate and burst: the bucket counts in nanoseconds.
const MOST: u32 = 1_000_000;

/// Limits that workers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Errors per second.
    pub rate: u32,
    /// Largest burst of errors.
    pub burst: u32,
}

impl Limits {
    fn of<F: Icmp>(limits: &IcmpErrorLimits<F>) -> Limits {
        Limits { rate: limits.rate, burst: limits.burst }
    }
}

/// Publisher of a family's limits.
struct Published<F: Icmp>(Publisher<Limits>, PhantomData<F>);

/// A token bucket over the engine's clock, in nanoseconds' worth of messages. It begins full.
#[derive(Debug, Default)]
pub struct Bucket {
    /// Nanoseconds spent and not yet earned again.
    debt: u64,
    seen: u64,
}

impl Bucket {
    /// Takes a token. Returns false if there is none.
    pub fn take(&mut self, now: u64, limits: Limits) -> bool {
        let Some(cost) = 1_000_000_000u64.checked_div(limits.rate.into()) else { return false };
        self.debt = self.debt.saturating_sub(now.saturating_sub(self.seen));
        self.seen = now;
        let pays = self.debt + cost <= cost * u64::from(limits.burst);
        self.debt += if pays { cost } else { 0 };
        pays
    }
}

/// Registers the objects and commands.
pub(crate) fn register(control: &Control) {
    register_family::<V4>(control);
    register_family::<V6>(control);
    control.commands().add(Command::new("show icmp error-limits", "Show the rate limits of ICMP errors.", show));
}

/// The limits of a family that workers read.
pub(crate) fn publish<F: Icmp>(control: &Control) -> Snapshot<Limits> {
    let limits = Limits::of(&IcmpErrorLimits::<F>::unchanged());
    let published = Publisher::new(control.room::<Dataplane>().domain(), limits);
    let snapshot = published.snapshot();
    control.insert_room(Published::<F>(published, PhantomData));
    snapshot
}

fn register_family<F: Icmp>(control: &Control) {
    control.objects().add(Kind::new(apply::<F>).check(check::<F>));
    let grammar = format!("set icmp error-limits {} {{rate <rate:u32> | burst <burst:u32>}}", F::NAME);
    let help = format!("Set the rate limit of ICMP errors for {}, per worker.", F::TITLE);
    let set = Command::new(grammar, help, set::<F>).arguments_of::<IcmpErrorLimits<F>>();
    control.commands().add(set);
}

fn check<F: Icmp>(wanted: &IcmpErrorLimits<F>) -> Result<(), ObjectError> {
    if wanted.name != IcmpErrorLimits::<F>::NAME {
        return Err(ObjectError::field("name", "there is one only").remedy("call it default"));
    }
    if wanted.rate > MOST {
        return Err(
            ObjectError::field("rate", format!("{} is out of range", wanted.rate)).remedy("give 1000000 at most")
        );
    }
    if !(1..=MOST).contains(&wanted.burst) {
        let what = format!("{} is out of range", wanted.burst);
        return Err(ObjectError::field("burst", what).remedy("give 1 to 1000000"));
    }
    Ok(())
}

fn apply<F: Icmp>(control: &Control, change: Change<'_, IcmpErrorLimits<F>>) -> Result<(), ObjectError> {
    let limits = match change {
        Change::Create(new) | Change::Update { new, .. } => Limits::of(new),
        Change::Delete(_) => Limits::of(&IcmpErrorLimits::<F>::unchanged()),
    };
    control.room_mut::<Published<F>>().0.publish(limits);
    Ok(())
}

fn set<F: Icmp>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let (rate, burst) = (given.find("rate")?, given.find("burst")?);
    control.edit(IcmpErrorLimits::<F>::unchanged(), |limits| {
        limits.rate = rate.unwrap_or(limits.rate);
        limits.burst = burst.unwrap_or(limits.burst);
    })?;
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Family", "Rate", "Burst"]);
    table.row(row::<V4>(control));
    table.row(row::<V6>(control));
    Ok(table.into())
}

fn row<F: Icmp>(control: &Control) -> [Cell; 3] {
    let limits = IcmpErrorLimits::<F>::current(control);
    [Cell::from(F::NAME), Cell::of(limits.rate), Cell::of(limits.burst)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_bursts_end() {
        let limits = Limits { rate: 1000, burst: 100 };
        let mut bucket = Bucket::default();
        assert_eq!((0..200).filter(|_| bucket.take(0, limits)).count(), 100);
        assert_eq!((0..2000).filter(|i| bucket.take(i * 500_000, limits)).count(), 999);
        // A long rest earns no more than a burst.
        assert_eq!((0..200).filter(|_| bucket.take(60_000_000_000, limits)).count(), 100);
    }

    #[test]
    fn limits_may_change_and_none_may_be_sent() {
        let mut bucket = Bucket::default();
        assert_eq!((0..10).filter(|_| bucket.take(0, Limits { rate: 0, burst: 100 })).count(), 0);
        assert_eq!((0..10).filter(|_| bucket.take(0, Limits { rate: 2, burst: 1 })).count(), 1);
        assert_eq!((0..10).filter(|i| bucket.take(i * 250_000_000, Limits { rate: 2, burst: 1 })).count(), 4);
        assert_eq!((0..10).filter(|_| bucket.take(9_000_000_000, Limits { rate: 1_000_000, burst: 5 })).count(), 5);
    }
}
