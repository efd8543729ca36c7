//! Sessions of lists on the control side: which interfaces have them, their timeouts, and their end when lists change.
//!
//! As in VPP, sessions stay when the rules of a list change, and those of an interface end when it gets other lists. With
//! `reclassify-sessions` those end, and only those, whose first packet the lists do not permit and reflect any more.

use std::rc::Rc;

use quiver_control::{Control, ObjectError};
use quiver_interface::{Direction, InterfaceId, InterfaceName, Interfaces};
use quiver_session::admission;
use quiver_session::expiry::{Which, end_sessions};
use quiver_session::key::{Formats as KeyFormats, KeyFormat};
use quiver_session::listing::{self, Listed, ip4_end, ip6_end};
use quiver_session::tenant::{TenantRow, Tenants};
use quiver_session::timeouts::{ESTABLISHED, TCP_ESTABLISHED, TIMEOUTS_MAX};
use quiver_session::{SessionError, no_space};

use crate::config::{Acl, AclInterface, AclNumber, AclSettings};
use crate::ends::{Ending, Ends};
use crate::flow::{Admission, Formats};
use crate::lists::Acls;

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
        control.insert_room(Ends::default());
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
pub(crate) fn interfaces_of(control: &Control, list: u32) -> Vec<(InterfaceId, Rc<AclInterface>)> {
    let users: Vec<InterfaceId> = control.room::<Acls>().users(list).map(InterfaceId).collect();
    let at =
        |interface| control.objects().get::<AclInterface>(&InterfaceName(control.room::<Interfaces>().name(interface)));
    users.into_iter().filter_map(|interface| Some((interface, at(interface)?))).collect()
}

/// Makes the table of sessions if a list in use needs it with these rules.
pub(crate) fn prepare(control: &Control, acl: &Acl) -> Result<(), ObjectError> {
    let is_used = control.room::<Acls>().users(acl.id).next().is_some();
    if is_used && acl.rules.list().reflects() { admission::enable(control).map_err(no_space) } else { Ok(()) }
}

/// Follows a change of a list's rules.
pub(crate) fn follow_rules(control: &Control, acl: &Acl) {
    let (reflects, reclassifies) = (acl.rules.list().reflects(), AclSettings::current(control).reclassify_sessions);
    if !reflects && !reclassifies {
        return;
    }
    for (interface, at) in interfaces_of(control, acl.id) {
        if reflects {
            reflect(control, interface, true);
        }
        if reclassifies {
            reclassify(control, interface, &at);
        }
    }
}

fn reflect(control: &Control, interface: InterfaceId, reflects: bool) {
    let ends = control.room::<Ends>().clone();
    ends.reflect(control, interface.0, reflects);
}

/// Follows a change of an interface's lists.
pub(crate) fn follow_lists(
    control: &Control,
    interface: InterfaceId,
    old: Option<&AclInterface>,
    new: Option<&AclInterface>,
) {
    let all = |at: Option<&AclInterface>| {
        let lists = at.into_iter().flat_map(|at| at.input.iter().chain(&at.output));
        lists.map(|list| list.0).collect::<Vec<_>>().into_iter()
    };
    control.room_mut::<Acls>().note_lists(interface.0, all(old), all(new));
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
    reflect(control, interface, reflects || stays && did);
    match (did, stays) {
        (true, true) => new.into_iter().for_each(|at| reclassify(control, interface, at)),
        (true, false) => end_at(control, interface, Ending::All),
        (false, _) => {}
    }
}

/// Ends sessions of an interface once workers have the lists as they are now.
fn end_at(control: &Control, interface: InterfaceId, ending: Ending) {
    let Reflecting { slot, formats } = *control.room::<Reflecting>();
    let ends = control.room::<Ends>().clone();
    ends.end(control, interface.0, ending, (slot, formats));
}

/// Ends the sessions of an interface whose first packet its lists, which may be about to be configured, do not permit and reflect.
fn reclassify(control: &Control, interface: InterfaceId, at: &AclInterface) {
    let numbers = |way| at.lists(way).iter().map(|list| list.0).collect();
    end_at(control, interface, Ending::Refused(Direction::ALL.map(numbers)));
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
