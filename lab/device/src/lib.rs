//! Devices under test: the lab sends packets through them and measures them.
//!
//! A [`Job`] says what a device is to do, on which cores, and where the generator's ends are; [`start`] starts a process of
//! the case's device for it, configures that in its own language, and returns a [`Device`], by which everything else is
//! asked. The generator is the master of every memif interface and listens; a device connects, with both of its ports.
//!
//! A device makes files and interfaces only in the job's folder and in the namespace of its ports. All of them are gone
//! with the value, after a panic, too.
#![forbid(unsafe_code)]

mod cores;
mod error;
mod features;
mod ground;
mod growth;
mod keeper;
mod linux;
mod packet_sockets;
mod process;
mod quiver;
mod routes;
mod site;
mod testpmd;
mod usage;
mod vpp;
mod waiting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quiver_netns::Namespace;
use quiver_stop::Stop;
use quiver_suite::field::{self, Frame};
use quiver_suite::{Case, Traffic};

pub use error::Error;
pub use site::Site;
pub use usage::{Busy, Measure, Usage};

/// A device to start: the case, its ports, its cores and its folder.
pub struct Job<'run> {
    /// The case: device, function, scale, frames.
    pub case: &'run Case,
    /// The two ends that it joins.
    pub ports: [Port<'run>; 2],
    /// The core of each worker. Other threads of the device's process stay off these where there are others.
    pub cpus: Vec<usize>,
    /// Where its files may lie: sockets, configuration, output.
    pub folder: &'run Path,
    /// The device's program; without one it is looked for where it usually is.
    pub program: Option<PathBuf>,
    /// The host of a testbed that it runs on, whose interfaces its ports are; without one it is this machine.
    pub site: Option<&'run Site>,
    /// Its place in a row of devices that packets pass one after the other, from 0, and how many these are.
    pub place: (usize, usize),
    /// The flag that ends every wait for the device.
    pub stop: &'run Stop,
}

/// One of a device's two ends.
pub enum Port<'run> {
    /// A memif interface, whose master listens.
    Memif {
        /// The socket.
        socket: PathBuf,
        /// Its number there.
        id: u32,
    },
    /// An interface of the kernel, an end of a veth or a tap: the kernel forwards by it, others take it over by AF_PACKET.
    /// Both ports of a job are in the same namespace.
    Host {
        /// Where it is; without one, where the device is.
        namespace: Option<&'run Namespace>,
        /// The interface's name there.
        name: String,
    },
    /// A TAP interface that the device makes.
    Tap {
        /// Where its kernel end is, at which the generator is: the device lives there.
        namespace: &'run Namespace,
        /// Name of the kernel end.
        name: String,
    },
}

/// A running device under test.
pub trait Device: Send {
    /// The version that the device reports.
    fn version(&self) -> String;

    /// The configuration, in the device's own language.
    fn configuration(&self) -> &str;

    /// Waits until packets can pass.
    ///
    /// # Errors
    /// It ends, or time is over.
    fn wait_until_ready(&mut self, within: Duration) -> Result<(), Error>;

    /// CPU time and busy ticks used since the start.
    ///
    /// # Errors
    /// It ends, or does not say so.
    fn usage(&mut self) -> Result<Usage, Error>;

    /// Counters since the start, by the device's own names, with drops by reason.
    ///
    /// # Errors
    /// It ends, or does not say so.
    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Error>;

    /// Resources that a leak would grow: memory in bytes and buffers in use, by the device's own names. A figure that
    /// the device does not report is absent.
    ///
    /// # Errors
    /// It ends, or does not say so.
    fn holdings(&mut self) -> Result<BTreeMap<&'static str, f64>, Error> {
        Ok(BTreeMap::new())
    }

    /// Adds so many routes that no packet takes, and returns when it says that they are there.
    ///
    /// # Errors
    /// It ends, refuses, or routes nothing.
    fn grow(&mut self, entries: u32) -> Result<(), Error>;

    /// Ends it in good order.
    ///
    /// # Errors
    /// It has ended before by itself, or does not end.
    fn stop(self: Box<Self>) -> Result<(), Error>;
}

/// Starts the case's device, configured but perhaps not yet connected.
///
/// # Errors
/// Its program is missing or ends, it refuses a command, or cannot do what the job says.
pub fn start(job: &Job<'_>) -> Result<Box<dyn Device>, Error> {
    if let Some(site) = job.site {
        site.admits(job.case.device)?;
    }
    match job.case.device {
        field::Device::Quiver => Ok(Box::new(quiver::Quiver::start(job)?)),
        field::Device::Vpp => Ok(Box::new(vpp::Vpp::start(job)?)),
        field::Device::Testpmd => Ok(Box::new(testpmd::Testpmd::start(job)?)),
        field::Device::Linux => Ok(Box::new(linux::Linux::start(job)?)),
    }
}

/// The most bytes of a frame behind its Ethernet header, by a TAP.
const MTU: u16 = 9000;

/// Descriptors in a ring of memif. A closed loop has 1,024 packets on their way at most, and a long frame takes five buffers
/// of 2,048 bytes, which every device has.
fn ring_size(frame: Frame) -> u32 {
    match frame {
        Frame::Bytes(bytes) if bytes > 2048 => 8192,
        Frame::Bytes(_) | Frame::Imix => 2048,
    }
}

/// A socket that a device listens at.
struct Socket {
    /// Where it is found here.
    here: PathBuf,
    /// Where it is for the device.
    there: PathBuf,
}

impl Job<'_> {
    /// The number that a device gives the socket of a port, 1 or 2: where both are at one, that is one number.
    fn socket_number(&self, at: usize) -> usize {
        match &self.ports {
            [Port::Memif { socket: first, .. }, Port::Memif { socket: second, .. }] if first != second => at + 1,
            _ => 1,
        }
    }

    /// The namespace of its ports, if they are interfaces of the kernel or have an end there.
    fn namespace(&self) -> Option<&Namespace> {
        self.ports.iter().find_map(|port| match port {
            Port::Host { namespace, .. } => *namespace,
            Port::Tap { namespace, .. } => Some(*namespace),
            Port::Memif { .. } => None,
        })
    }

    /// Addresses, tags and routes of the case as this device sees them.
    fn traffic(&self) -> Traffic {
        Traffic::of(self.case).at(self.place.0, self.place.1)
    }

    /// A socket for the device to listen at.
    fn socket(&self, name: &str) -> Socket {
        let here = self.folder.join(name);
        let there = self.site.map_or_else(|| here.clone(), |site| site.file(name));
        match self.site {
            Some(site) if !site.is_away() => Socket { here: there.clone(), there },
            _ => Socket { here, there },
        }
    }
}

/// The page of this room, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Page;
