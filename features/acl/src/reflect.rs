//! Sessions of lists on the control side: which interfaces have them, their timeouts, and their end when lists change.
//!
//! As in VPP, sessions stay when the rules of a list change, and those of an interface end when it gets other lists. With
//! `reclassify-sessions` those end, and only those, whose first packet the lists do not permit and reflect any more.

use std::rc::Rc;

use quiver_control::{Control, ObjectError};
use quiver_engine::Dataplane;
use quiver_interface::{Direction, InterfaceId, Interfaces};
use quiver_session::admission;
use quiver_session::expiry::{Which, end_sessions, end_sessions_if};
use quiver_session::key::{Formats as KeyFormats, KeyFormat};
use quiver_session::listing::{self, Listed, ip4_end, ip6_end};
use quiver_session::tenant::{TenantRow, Tenants};
use quiver_session::timeouts::{ESTABLISHED, TCP_ESTABLISHED, TIMEOUTS_MAX};
use quiver_session::{SessionError, no_space};

use crate::config::{Acl, AclInterface, AclNumber, AclSettings};
use crate::flow::{Admission, Formats};
use crate::lists::{Acls, Lists};
use crate::rule::{Action, any_reflects};

/// Slot and formats by which sessions of lists differ from others: a room of the control side.
#[derive(Clone, Copy)]
pub struct Reflecting {
    /// Slot of their tenant.
    pub slot: u16,
    /// Formats of their keys.
    pub formats: Formats,
}

/// Timeouts by number: all but two are those of TCP without a handshake.
fn timeouts(settings: &AclSettings) -> [u32; TIMEOUTS_MAX] {
    let mut values = [settings.tcp_transient_timeout; TIMEOUTS_MAX];
    values[usize::from(ESTABLISHED)] = settings.udp_timeout;
    values[usize::from(TCP_ESTABLISHED)] = settings.tcp_timeout;
    values
}

/// Why the room cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum ReflectError {
    /// The room of sessions refuses a format.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// There is no slot for the sessions' tenant.
    #[error("there is no slot left for the tenant of access lists' sessions")]
    Tenant,
}

impl Reflecting {
    /// Registers formats and a tenant. The room of sessions is registered before.
    pub(crate) fn register(control: &Control) -> Result<Reflecting, ReflectError> {
        let format = |name, is_ip4, show| {
            let added = control.room_mut::<KeyFormats>().add(KeyFormat { name, is_ip4, show });
            added.map_err(|error| ReflectError::Session(error.into()))
        };
        let formats = Formats { ip4: format("acl-ipv4", true, ip4_end)?, ip6: format("acl-ipv6", false, ip6_end)? };
        let row = TenantRow {
            is_there: true,
            id: u32::MAX,
            timeouts: timeouts(&AclSettings::standard()),
            ..TenantRow::default()
        };
        let slot = control.room_mut::<Tenants>().add_own(row).ok_or(ReflectError::Tenant)?;
        let reflecting = Reflecting { slot, formats };
        control.insert_room(reflecting);
        Ok(reflecting)
    }
}

/// Gives sessions other timeouts, from the next time on that they are looked at.
pub(crate) fn set_timeouts(control: &Control, settings: &AclSettings) {
    let slot = control.room::<Reflecting>().slot;
    let mut tenants = control.room_mut::<Tenants>();
    let row = TenantRow { timeouts: timeouts(settings), ..tenants.row(slot) };
    tenants.set_own(slot, row);
}

/// Makes the table of sessions if one of these lists needs it.
pub(crate) fn start(control: &Control, lists: &[AclNumber]) -> Result<(), ObjectError> {
    let needs = lists.iter().any(|list| control.room::<Acls>().current().has_reflecting(list.0));
    if needs { admission::enable(control).map_err(no_space) } else { Ok(()) }
}

/// The interfaces that have a list, with all their lists.
fn interfaces_of(control: &Control, acl: &Acl) -> Vec<(InterfaceId, Rc<AclInterface>)> {
    let has = |at: &AclInterface| Direction::ALL.iter().any(|way| at.lists(*way).contains(&AclNumber(acl.id)));
    let having = control.walk::<AclInterface>().filter(|at| has(at));
    having.filter_map(|at| Some((control.room::<Interfaces>().id_of(&at.interface.0).ok()?, at))).collect()
}

/// Makes the table of sessions if a list in use needs it with these rules.
pub(crate) fn prepare(control: &Control, acl: &Acl) -> Result<(), ObjectError> {
    match any_reflects(&acl.rules) && !interfaces_of(control, acl).is_empty() {
        true => admission::enable(control).map_err(no_space),
        false => Ok(()),
    }
}

/// Follows a change of a list's rules.
pub(crate) fn follow_rules(control: &Control, acl: &Acl) {
    let (reflects, reclassifies) = (any_reflects(&acl.rules), AclSettings::current(control).reclassify_sessions);
    if !reflects && !reclassifies {
        return;
    }
    for (interface, at) in interfaces_of(control, acl) {
        if reflects {
            control.room_mut::<Acls>().reflect(interface.0, true);
        }
        if reclassifies {
            reclassify(control, interface, &at);
        }
    }
}

/// Follows a change of an interface's lists.
pub(crate) fn follow_lists(
    control: &Control,
    interface: InterfaceId,
    old: Option<&AclInterface>,
    new: Option<&AclInterface>,
) {
    let reclassifies = AclSettings::current(control).reclassify_sessions;
    let lists = |at: Option<&AclInterface>| {
        Direction::ALL.map(|way| {
            let mut numbers: Vec<u32> = at.map_or(&[][..], |at| at.lists(way)).iter().map(|list| list.0).collect();
            // Their order matters only if sessions are reclassified.
            if !reclassifies {
                numbers.sort_unstable();
                numbers.dedup();
            }
            numbers
        })
    };
    let (before, after) = (lists(old), lists(new));
    if before == after {
        return;
    }
    let reflects = after.iter().flatten().any(|list| control.room::<Acls>().current().has_reflecting(*list));
    let stays = reclassifies && after.iter().any(|lists| !lists.is_empty());
    let did = control.room::<Acls>().current().reflects(interface.0);
    control.room_mut::<Acls>().reflect(interface.0, reflects || stays && did);
    match (did, stays) {
        (true, true) => new.into_iter().for_each(|at| reclassify(control, interface, at)),
        (true, false) => end_at(control, interface, |_| true),
        (false, _) => {}
    }
}

/// Ends the sessions of an interface that `is` says, once workers have the lists as they are now.
fn end_at(control: &Control, interface: InterfaceId, is: impl Fn(&Admission) -> bool + Clone + Send + 'static) {
    let later = control.clone();
    let Reflecting { slot, formats } = *control.room::<Reflecting>();
    control.spawn("sessions of an interface's lists", async move {
        let settled = later.room::<Dataplane>().settled();
        settled.await;
        let is = move |key: &_, identity| {
            Admission::of(key, identity, formats).is_some_and(|at| at.interface == interface.0 && is(&at))
        };
        end_sessions_if(later, slot, is).await;
    });
}

/// Ends the sessions of an interface whose first packet its lists, which may be about to be configured, do not permit and reflect.
fn reclassify(control: &Control, interface: InterfaceId, at: &AclInterface) {
    let numbers = |way| at.lists(way).iter().map(|list| list.0).collect::<Vec<_>>();
    let (lists, attached): (Lists, _) = (control.room::<Acls>().current().clone(), Direction::ALL.map(numbers));
    end_at(control, interface, move |session| {
        let direction = Direction::received(!session.is_sent) as usize;
        let all = attached[direction].iter().filter_map(|list| lists.get(*list));
        let first = all.filter_map(|list| list.decide(&session.fields)).next();
        first != Some(Action::PermitReflect)
    });
}

/// Ends all sessions of lists; done when they have ended.
pub(crate) async fn clear(control: Control) {
    let slot = control.room::<Reflecting>().slot;
    end_sessions(control, Which::OfTenant(slot)).await;
}

/// All sessions of lists; a step finds one or none.
pub(crate) fn all(control: &Control) -> impl Iterator<Item = Option<(Listed, Admission)>> + use<> {
    let Reflecting { slot, formats } = *control.room::<Reflecting>();
    listing::all(control).map(move |listed| {
        let listed = listed.filter(|listed| listed.identity.tenant() == slot)?;
        Some((listed, Admission::of(&listed.key, listed.identity, formats)?))
    })
}
