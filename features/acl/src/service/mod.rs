//! Access lists of session tenants: the service `sfdp-acl`, by which the chains of tenants ask lists about sessions.
//!
//! - [`config`]: objects of kind `session-acls`. [`verdict`]: what a session keeps of its lists; [`node`]: the node; `command`: the command line.

mod command;
pub mod config;
pub mod node;
pub mod verdict;

pub use config::SessionAcls;

use quiver_control::{Control, Kind};
use quiver_engine::trace::Record;
use quiver_engine::{Dataplane, DataplaneError, MetadataKey, NodeSpec};
use quiver_interface::{Undecided, decides, undecided};
use quiver_ip::upper::{self, Upper};
use quiver_session::tenant::Tenants;
use quiver_session::{Service, SessionError, register_service};

use crate::lists::Acls;
use node::{Judge, NAME, Next, first_fields};
use verdict::Verdicts;

/// Registers the object and the service. Lists and sessions are registered before.
pub(crate) fn register(control: &Control, upper: MetadataKey<Upper>) -> Result<(), SessionError> {
    let (reads, verdicts) = (quiver_session::reads(control), Verdicts::claim(control)?);
    let lists = control.room::<Acls>().lists();
    let make = move |_| Judge::new(reads.clone(), lists.clone(), upper, verdicts);
    let spec = NodeSpec::new(NAME, Next::ARCS, make);
    control.room_mut::<Dataplane>().blueprint().node(spec).map_err(DataplaneError::from)?;
    register_service(control, Service::judge(NAME))?;
    control.objects().add(Kind::new(config::apply).check(config::check));
    decides(control, NAME, origin);
    undecided(control, NAME, Undecided::NodeBefore, &["no-session"]);
    command::register(control);
    Ok(())
}

/// The rule that a packet's session meets first, of its tenant's lists; or these lists, if it meets none, or if they have been asked before.
fn origin(control: &Control, record: &Record) -> Option<String> {
    let (slot, mark) = quiver_session::traced(control, record)?;
    let (acls, tenant) = (control.room::<Acls>(), control.room::<Tenants>().row(slot).id);
    let lists = acls.current();
    let Some(of) = lists.of_tenant(slot) else { return Some(format!("session-tenants {tenant}, {NAME}")) };
    let fields = first_fields(&record.bytes, record.metadata.get(upper::key(control)), mark);
    let first = lists.deciding(&of.lists, fields.as_ref());
    let (rule, permits) = first.unwrap_or_else(|| (format!("session-acls {tenant}, none of its rules"), false));
    let has_passed = record.arc != Some(Next::Denied.into());
    Some(if permits == has_passed { rule } else { format!("session-acls {tenant}, the verdict of the session") })
}
