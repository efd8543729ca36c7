//! Ports of a testbed, joined by its own cables.

use std::collections::BTreeMap;

use quiver_device::Port;
use quiver_generator::Link;
use quiver_netns::{Namespace, World, veth};

use super::{ENDS, Links, MTU, hosts as looped};
use crate::Error;
use crate::hosts::Hosts;

/// The ports, and a pair of veth by which the generator is looped: its own ports lead to the devices.
pub struct Ports<'run> {
    hosts: &'run Hosts,
    alone: Namespace,
}

impl<'run> Ports<'run> {
    /// Makes the pair.
    pub fn new(world: &World, hosts: &'run Hosts) -> Result<Ports<'run>, Error> {
        let alone = Namespace::add_silent(world, "alone")?;
        veth((&alone, ENDS[0]), (&alone, ENDS[1]), MTU)?;
        Ok(Ports { hosts, alone })
    }
}

impl Links for Ports<'_> {
    fn looped(&self) -> ([Link; 2], Option<&Namespace>) {
        (looped(), Some(&self.alone))
    }

    fn ends(&self) -> ([Link; 2], Option<&Namespace>) {
        (self.hosts.interfaces(0).map(|name| Link::Host { name }), None)
    }

    fn ports(&self, at: usize) -> [Port<'_>; 2] {
        self.hosts.interfaces(at + 1).map(|name| Port::Host { namespace: None, name })
    }

    fn losses(&self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(self.hosts.losses()?.into_iter().collect())
    }
}
