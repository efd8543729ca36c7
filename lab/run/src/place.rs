//! Where cases run: in a world of namespaces of their own, where the machine gives the right to make one.

use std::path::Path;

use quiver_netns::{Error as Refusal, Rights, World, enter_handling_signals, rights};
use tempfile::TempDir;

use crate::Error;

/// Where the files of a run lie in a world: in memory that goes with it.
const RUN: &str = "/run";

/// Where cases run.
///
/// In a world all processes, namespaces, interfaces and files of a run are gone when the program ends, by whatever death.
#[derive(Debug)]
pub struct Place {
    world: Result<World, String>,
}

impl Place {
    /// Moves the rest of this program into a world, if it has the right to make one. Before it starts any thread.
    ///
    /// # Errors
    /// The world could not be made.
    pub fn enter() -> Result<Place, Refusal> {
        match rights() {
            Rights::None(remedy) => {
                Ok(Place { world: Err(format!("this machine gives no right to make network namespaces: {remedy}")) })
            }
            Rights::Own | Rights::UserNamespace => Ok(Place { world: Ok(enter_handling_signals()?) }),
        }
    }

    /// Where this program is. There are no namespaces then, and no interfaces of the kernel.
    pub fn here() -> Place {
        Place { world: Err("network namespaces are made by `quiver lab run`".into()) }
    }

    /// Whether a path is in memory that goes with this place.
    pub fn is_lost(&self, path: &Path) -> bool {
        let existing = path.ancestors().find_map(|path| path.canonicalize().ok());
        self.world.is_ok() && existing.is_some_and(|path| path.starts_with(RUN))
    }

    /// Namespaces can be made in it; or the reason why there are none.
    pub(crate) fn world(&self) -> Result<&World, Error> {
        self.world.as_ref().map_err(|reason| Error::Lacking(reason.clone()))
    }

    /// A folder for a case's files.
    pub(crate) fn folder(&self) -> std::io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("quiver-lab-");
        if self.world.is_ok() { builder.tempdir_in(RUN) } else { builder.tempdir() }
    }
}
