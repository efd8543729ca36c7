//! TAP interfaces. The device makes them, and the generator uses their kernel ends. For the kernel's own router and
//! bridge the generator makes them, and their kernel ends are the device's ports.

use std::collections::BTreeMap;

use quiver_device::Port;
use quiver_generator::Link;
use quiver_netns::{Namespace, World};
use serde_json::Value;

use super::{ENDS, Links, hosts};
use crate::Error;
use crate::softnet::backlog;

/// A TAP and its kernel end, which is in the same namespace: packets come back by the other one.
fn looped(alone: &Namespace) -> ([Link; 2], Option<&Namespace>) {
    let [name, _] = ENDS.map(str::to_owned);
    ([Link::Tap { namespace: alone.path(), name: name.clone() }, Link::Host { name }], Some(alone))
}

/// Packets that the kernel dropped because the TAPs' queues were full.
fn losses(namespace: &Namespace) -> Result<BTreeMap<String, u64>, Error> {
    let mut losses = backlog()?;
    let answer = namespace.ip("-json -statistics link show")?;
    let links: Vec<Value> = serde_json::from_str(&answer).unwrap_or_default();
    for link in links.iter().filter(|link| ENDS.iter().any(|end| link["ifname"] == *end)) {
        let dropped = link["stats64"]["tx"]["dropped"].as_u64().unwrap_or(0);
        *losses.entry("kernel tap-full".to_owned()).or_default() += dropped;
    }
    Ok(losses)
}

/// Made by a device that is a process.
pub struct OfDevice {
    alone: Namespace,
    both: Namespace,
}

impl OfDevice {
    /// Makes namespaces.
    pub fn new(world: &World) -> Result<OfDevice, Error> {
        Ok(OfDevice { alone: Namespace::add_silent(world, "alone")?, both: Namespace::add_silent(world, "both")? })
    }
}

impl Links for OfDevice {
    fn looped(&self) -> ([Link; 2], Option<&Namespace>) {
        looped(&self.alone)
    }

    fn ends(&self) -> ([Link; 2], Option<&Namespace>) {
        (hosts(), Some(&self.both))
    }

    fn ports(&self, _: usize) -> [Port<'_>; 2] {
        ENDS.map(|name| Port::Tap { namespace: &self.both, name: name.to_owned() })
    }

    fn are_made_by_device(&self) -> bool {
        true
    }

    fn losses(&self) -> Result<BTreeMap<String, u64>, Error> {
        losses(&self.both)
    }
}

/// Made by the generator, between which the kernel forwards.
pub struct OfGenerator {
    alone: Namespace,
    device: Namespace,
}

impl OfGenerator {
    /// Makes namespaces.
    pub fn new(world: &World) -> Result<OfGenerator, Error> {
        Ok(OfGenerator {
            alone: Namespace::add_silent(world, "alone")?,
            device: Namespace::add_silent(world, "device")?,
        })
    }
}

impl Links for OfGenerator {
    fn looped(&self) -> ([Link; 2], Option<&Namespace>) {
        looped(&self.alone)
    }

    fn ends(&self) -> ([Link; 2], Option<&Namespace>) {
        (ENDS.map(|name| Link::Tap { namespace: self.device.path(), name: name.to_owned() }), None)
    }

    fn ports(&self, _: usize) -> [Port<'_>; 2] {
        ENDS.map(|name| Port::Host { namespace: Some(&self.device), name: name.to_owned() })
    }

    fn losses(&self) -> Result<BTreeMap<String, u64>, Error> {
        losses(&self.device)
    }
}
