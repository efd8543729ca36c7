//! How generator and device are joined, a room for each kind.

mod memif;
mod ports;
mod tap;
mod veth;

use std::collections::BTreeMap;
use std::path::Path;

use quiver_device::Port;
use quiver_generator::Link;
use quiver_netns::Namespace;
use quiver_suite::field::{Device, Driver};
use quiver_suite::{Case, Lack, Part, Traffic};

use crate::softnet::backlog;
use crate::{Error, Place};

/// The most bytes of a frame behind its Ethernet header.
pub const MTU: u16 = 9000;

/// Names of the kernel's interfaces, in all namespaces.
const ENDS: [&str; 2] = ["port1", "port2"];

/// The generator at interfaces of the kernel.
fn hosts() -> [Link; 2] {
    ENDS.map(|name| Link::Host { name: name.to_owned() })
}

/// Two links between generator and device.
pub(crate) trait Links {
    /// A link whose two ends are the generator's, by which its ceiling is measured.
    fn looped(&self) -> ([Link; 2], Option<&Namespace>);

    /// The generator's ends of the links to the device's first and second port, and where it lives.
    fn ends(&self) -> ([Link; 2], Option<&Namespace>);

    /// A device's ends, by its place in the row.
    fn ports(&self, at: usize) -> [Port<'_>; 2];

    /// Whether the device makes the links and must be started first; else the generator.
    fn are_made_by_device(&self) -> bool {
        false
    }

    /// Whether the kernel carries packets, which it may lose.
    fn are_of_kernel(&self) -> bool {
        true
    }

    /// Losses on the links up to now, by name.
    fn losses(&self) -> Result<BTreeMap<String, u64>, Error> {
        backlog()
    }
}

/// Shared memory without a device; `folder` is for its files.
pub(crate) fn looped<'run>(folder: &Path) -> Result<Box<dyn Links + 'run>, Error> {
    Ok(Box::new(memif::Memif::new(folder)?))
}

/// The links of a case; `folder` is for their files.
pub(crate) fn links<'run>(case: &Case, place: &'run Place, folder: &Path) -> Result<Box<dyn Links + 'run>, Error> {
    match (place.hosts(), case.ports) {
        (Some(hosts), Some(_)) => {
            hosts.check(case, Traffic::of(case).sides[0].tags.len())?;
            return Ok(Box::new(ports::Ports::new(place.world()?, hosts)?));
        }
        (None, None) => {}
        _ => return Err(Error::Lacking("cases with the links of one machine do not run on a testbed's ports".into())),
    }
    Ok(match (case.driver, case.device) {
        (Driver::Memif, _) => Box::new(memif::Memif::new(folder)?),
        (Driver::Veth, _) => Box::new(veth::Veth::new(place.world()?)?),
        (Driver::Tap, Device::Linux) => Box::new(tap::OfGenerator::new(place.world()?)?),
        (Driver::Tap, _) => Box::new(tap::OfDevice::new(place.world()?)?),
        (Driver::Pg, _) => return Err(Error::Lacking(Lack::Part(Part::OwnPackets).to_string())),
    })
}
