//! Pairs of veth from the generator's namespace to the device's, by AF_PACKET where a process is at the end.

use quiver_device::Port;
use quiver_generator::Link;
use quiver_netns::{Namespace, World, veth};

use super::{ENDS, Links, MTU, hosts};
use crate::Error;

/// The namespaces.
pub struct Veth {
    alone: Namespace,
    generator: Namespace,
    device: Namespace,
}

impl Veth {
    /// Makes namespaces and pairs.
    pub fn new(world: &World) -> Result<Veth, Error> {
        let alone = Namespace::add_silent(world, "alone")?;
        let [generator, device] = ["generator", "device"].map(|name| Namespace::add_silent(world, name));
        let (generator, device) = (generator?, device?);
        veth((&alone, ENDS[0]), (&alone, ENDS[1]), MTU)?;
        for end in ENDS {
            veth((&generator, end), (&device, end), MTU)?;
        }
        Ok(Veth { alone, generator, device })
    }
}

impl Links for Veth {
    fn looped(&self) -> ([Link; 2], Option<&Namespace>) {
        (hosts(), Some(&self.alone))
    }

    fn ends(&self) -> ([Link; 2], Option<&Namespace>) {
        (hosts(), Some(&self.generator))
    }

    fn ports(&self, _: usize) -> [Port<'_>; 2] {
        ENDS.map(|name| Port::Host { namespace: Some(&self.device), name: name.to_owned() })
    }
}
