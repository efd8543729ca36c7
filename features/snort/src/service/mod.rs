//! Inspection of session tenants: the service `sfdp-inspect` of their chains.
//!
//! - [`config`]: objects of kind `snort-tenants`. [`node`]: the nodes; `command`: the command line.

mod command;
pub mod config;
pub mod node;

pub use config::SnortTenant;

use quiver_control::{Control, Kind};
use quiver_engine::{Dataplane, DataplaneError, Generations, NodeSpec, Paged, Publisher, Snapshot};
use quiver_interface::{Undecided, decides, undecided};
use quiver_session::node::pass::Reads;
use quiver_session::service::add_passing;
use quiver_session::tenant::Tenants;
use quiver_session::{Service, SessionError, by_tenant, register_service};

use crate::decision::Decisions;
use crate::instance::Instances;
use config::Inspected;
use node::{GoOn, Inspect, NAME, NEXT, Next};

/// Registers the node from which packets of sessions go on.
pub(crate) fn register_next(control: &Control, reads: &Reads) -> Result<(), SessionError> {
    let reads = reads.clone();
    let spec = NodeSpec::new(NEXT, node::Behind::ARCS, move |_| GoOn(reads.clone()));
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    add_passing(control, NEXT).map_err(DataplaneError::from)?;
    by_tenant(control, NEXT);
    undecided(control, NEXT, Undecided::Load, &["session-gone"]);
    Ok(())
}

/// Registers the object and the service.
pub(crate) fn register(
    control: &Control,
    reads: Reads,
    (instances, generations): (Snapshot<Instances>, Generations),
    decisions: Decisions,
) -> Result<(), SessionError> {
    let rows = Publisher::new(control.room::<Dataplane>().domain(), Paged::default());
    let inspected = rows.snapshot();
    control.insert_room(Inspected(rows));
    let make = move |_| {
        let tables = (inspected.clone(), instances.clone());
        Inspect::new(reads.clone(), tables, generations.clone(), decisions)
    };
    let spec = NodeSpec::new(NAME, Next::ARCS, make);
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    register_service(control, Service::new(NAME))?;
    control.objects().add(Kind::new(config::apply));
    decides(control, NAME, |control, record| {
        let (slot, _) = quiver_session::traced(control, record)?;
        Some(format!("snort-tenants {}", control.room::<Tenants>().row(slot).id))
    });
    undecided(control, NAME, Undecided::NodeBefore, &["no-session"]);
    undecided(control, NAME, Undecided::Load, &["inspector-full"]);
    command::register(control);
    Ok(())
}
