//! Where cases run: in a world of their own, where the machine gives the right to make one, and on the hosts of a testbed.

use std::path::{Path, PathBuf};

use quiver_netns::{Error as Refusal, Rights, World, enter_handling_signals, enter_machine_network, rights};
use quiver_stop::Stop;
use quiver_suite::field::Device;
use quiver_testbed::Testbed;
use tempfile::TempDir;

use crate::Error;
use crate::hosts::{self, Hosts};

/// Where the files of a run lie in a world: in memory that goes with it.
const RUN: &str = "/run";
/// The same in a world on the machine's network, whose `/run` is the machine's.
const SHARED: &str = "/dev/shm";

/// Where cases run.
///
/// In a world, all processes, namespaces, interfaces and files of a run are gone when the program ends, however it
/// dies.
pub struct Place {
    world: Result<World, String>,
    files: &'static str,
    testbed: Option<Testbed>,
    hosts: Option<Hosts>,
}

impl Place {
    /// Moves the rest of this program into a world, if it has the right to make one. Before it starts any thread.
    ///
    /// # Errors
    /// The world could not be made.
    pub fn enter() -> Result<Place, Refusal> {
        let world = match rights() {
            Rights::None(remedy) => Err(format!("this machine gives no right to make network namespaces: {remedy}")),
            Rights::Own | Rights::UserNamespace => Ok(enter_handling_signals()?),
        };
        Ok(Place { world, files: RUN, testbed: None, hosts: None })
    }

    /// The same for a testbed: its cores are used, and, where its ports are joined, its hosts, which are reached at once. The flag
    /// of `stop` ends every wait for them.
    ///
    /// # Errors
    /// The world could not be made, or a host lacks something.
    pub fn enter_testbed(testbed: Testbed, stop: &Stop) -> Result<Place, Error> {
        if testbed.links.is_empty() {
            return Ok(Place { testbed: Some(testbed), ..Place::enter()? });
        }
        let world = enter_machine_network()?;
        let hosts = Hosts::open(&testbed, hosts::folder(SHARED.as_ref())?, stop)?;
        Ok(Place { world: Ok(world), files: SHARED, testbed: Some(testbed), hosts: Some(hosts) })
    }

    /// Whether a path is in memory that goes with this place.
    pub fn is_lost(&self, path: &Path) -> bool {
        let existing = path.ancestors().find_map(|path| path.canonicalize().ok());
        self.world.is_ok() && existing.is_some_and(|path| path.starts_with(self.files))
    }

    /// The folder that [`Place::is_lost`] checks for.
    pub fn files(&self) -> &'static str {
        self.files
    }

    /// Namespaces can be made in it; or the reason why there are none.
    pub(crate) fn world(&self) -> Result<&World, Error> {
        self.world.as_ref().map_err(|reason| Error::Lacking(reason.clone()))
    }

    /// Where the device runs, and on which cores, if the user has said so.
    pub(crate) fn testbed(&self) -> Option<&Testbed> {
        self.testbed.as_ref()
    }

    /// The hosts of a testbed whose ports are joined.
    pub(crate) fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// The device's program, where the testbed names one on this machine.
    pub(crate) fn program(&self, device: Device) -> Option<PathBuf> {
        let testbed = self.testbed().filter(|_| self.hosts.is_none())?;
        let name = match device {
            Device::Quiver => "quiverd",
            Device::Vpp => "vpp",
            Device::Testpmd => "dpdk-testpmd",
            Device::Linux => return None,
        };
        testbed.host(testbed.generator.host).programs.get(name).cloned()
    }

    /// A folder for a case's files.
    pub(crate) fn folder(&self) -> std::io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("quiver-lab-");
        if self.world.is_ok() { builder.tempdir_in(self.files) } else { builder.tempdir() }
    }
}
