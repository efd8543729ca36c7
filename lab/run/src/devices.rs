//! The devices that packets pass, one after the other: one as a rule, two of a kind in a testbed of three nodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_device::{Busy, Device, Error as Failure, Job, Usage};
use quiver_result::Counters;
use quiver_stop::Stop;
use quiver_suite::Case;
use quiver_suite::field::Keyword as _;

use crate::Error;
use crate::cores::Cores;
use crate::hosts::Hosts;
use crate::links::Links;
use crate::losses::is_loss;

/// All devices, in the order of the packets' way.
pub struct Devices(Vec<One>);

struct One {
    /// The device's name in documents: its kind, with its host where there are two devices.
    name: String,
    /// Its host, if that is one of a testbed: its errors begin with it.
    host: Option<String>,
    device: Box<dyn Device>,
}

impl One {
    /// With the host's name in front.
    fn named<T>(&mut self, ask: impl FnOnce(&mut dyn Device) -> Result<T, Failure>) -> Result<T, Error> {
        ask(&mut *self.device).map_err(|error| named(self.host.as_deref(), error))
    }
}

/// Adds the host's name to an error that does not carry it already.
fn named(host: Option<&str>, error: Failure) -> Error {
    match (host, error) {
        (Some(_), error @ (Failure::Shell(_) | Failure::Site { .. } | Failure::Impossible { .. })) => error.into(),
        (Some(host), error) => Error::There { host: host.to_owned(), error: Box::new(error) },
        (None, error) => error.into(),
    }
}

impl Devices {
    /// Starts all; `folder` is for their files here.
    pub fn start(
        case: &Case,
        links: &dyn Links,
        hosts: Option<&Hosts>,
        cores: &Cores,
        folder: &Path,
        program: Option<PathBuf>,
        stop: &Stop,
    ) -> Result<Devices, Error> {
        let all = cores.devices.len();
        let mut devices = Devices(Vec::new());
        for (at, cpus) in cores.devices.iter().enumerate() {
            let site = hosts.and_then(|hosts| hosts.devices.get(at));
            let own = if at == 0 { folder.to_owned() } else { folder.join(at.to_string()) };
            std::fs::create_dir_all(&own)?;
            let (ports, program) = (links.ports(at), program.clone());
            let job = Job { case, ports, cpus: cpus.clone(), folder: &own, program, site, place: (at, all), stop };
            let host = site.map(|site| site.name().to_owned());
            let device = quiver_device::start(&job).map_err(|error| named(host.as_deref(), error))?;
            let kind = case.device.word();
            let name =
                host.as_ref().filter(|_| at > 0).map_or_else(|| kind.to_owned(), |host| format!("{kind} {host}"));
            devices.0.push(One { name, host, device });
        }
        Ok(devices)
    }

    /// Waits until packets can pass all.
    pub fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|one| one.named(|device| device.wait_until_ready(within)))
    }

    /// Their versions, by name.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|one| (one.name.clone(), one.device.version())).collect()
    }

    /// Their configuration, by name.
    pub fn configuration(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|one| (one.name.clone(), one.device.configuration().to_owned())).collect()
    }

    /// Their counters, by name.
    pub fn counters(&mut self) -> Result<Counters, Error> {
        self.0.iter_mut().map(|one| Ok((one.name.clone(), one.named(|device| device.counters())?))).collect()
    }

    /// Their drops up to now, by device and reason.
    pub fn drops(&mut self, case: &Case) -> Result<Vec<(String, u64)>, Error> {
        let mut drops = Vec::new();
        for (who, counters) in self.counters()? {
            let dropped = counters.into_iter().filter(|(name, _)| is_loss(case.device, name));
            drops.extend(dropped.map(|(name, count)| (format!("{who} {name}"), count)));
        }
        Ok(drops)
    }

    /// Usage of all devices together; the cost of a packet is the mean of two.
    pub fn usage(&mut self) -> Result<Usage, Error> {
        let all = self.0.iter_mut().map(|one| one.named(|device| device.usage()));
        let all = all.collect::<Result<Vec<Usage>, _>>()?;
        Ok(all.into_iter().reduce(together).unwrap_or_default())
    }

    /// Resources that a leak would grow, by the names of their series.
    pub fn holdings(&mut self) -> Result<Vec<(String, f64)>, Error> {
        let mut all = Vec::new();
        for (at, one) in self.0.iter_mut().enumerate() {
            let host = one.host.clone().filter(|_| at > 0).map_or(String::new(), |host| format!("{host} "));
            let held = one.named(|device| device.holdings())?;
            all.extend(held.into_iter().map(|(name, value)| (format!("device {host}{name}"), value)));
        }
        Ok(all)
    }

    /// Adds routes to all.
    pub fn grow(&mut self, entries: u32) -> Result<(), Error> {
        self.0.iter_mut().try_for_each(|one| one.named(|device| device.grow(entries)))
    }

    /// Ends all in good order; the first error is told.
    pub fn stop(self) -> Result<(), Error> {
        let ended: Vec<Result<(), Error>> = self
            .0
            .into_iter()
            .map(|one| one.device.stop().map_err(|error| named(one.host.as_deref(), error)))
            .collect();
        ended.into_iter().collect()
    }
}

fn together(one: Usage, other: Usage) -> Usage {
    let busy = one.busy.zip(other.busy).filter(|(one, other)| one.measure == other.measure);
    let add = |(one, other): (Busy, Busy)| Busy {
        measure: one.measure,
        spent: one.spent + other.spent,
        packets: one.packets + other.packets,
        off_core: one.off_core.zip(other.off_core).map(|(one, other)| one + other),
    };
    Usage { cpu: one.cpu + other.cpu, busy: busy.map(add) }
}

#[cfg(test)]
mod tests {
    use quiver_device::Measure;

    use super::*;

    #[test]
    fn two_devices_cost_the_mean_and_use_the_sum() {
        let usage = |spent, packets| Usage {
            cpu: Duration::from_secs(1),
            busy: Some(Busy { measure: Measure::ThreadTicks, spent, off_core: None, packets }),
        };
        let both = together(usage(100.0, 10), usage(300.0, 10));
        assert_eq!((both.cpu, both.busy), (Duration::from_secs(2), usage(400.0, 20).busy));
        assert_eq!(together(usage(1.0, 1), Usage::default()).busy, None);
    }

    #[test]
    fn errors_name_the_host_once() {
        let failed = || Failure::Refused { device: "quiver", command: "create".into(), answer: "no".into() };
        assert_eq!(named(Some("dut1"), failed()).to_string(), "dut1: quiver refuses `create`: no");
        assert_eq!(named(None, failed()).to_string(), "quiver refuses `create`: no");
        let site = Failure::Site { host: "dut1".into(), what: "it is small".into(), remedy: "take another".into() };
        assert_eq!(named(Some("dut1"), site).to_string(), "dut1: it is small; take another");
    }
}
