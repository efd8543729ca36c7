//! The configured access lists of session tenants.

use std::sync::Arc;

use quiver_control::{Change, Control, Object, ObjectError};
use quiver_session::tenant::{TenantId, Tenants};

use crate::config::AclNumber;
use crate::interface::LISTS_MAX;
use crate::lists::{Acls, TenantLists};

/// Access lists of a session tenant, which the service `sfdp-acl` of its chains asks. A session is permitted, with packets of both
/// directions, if the first matching rule of all lists permits its first packet.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "session-acls")]
pub struct SessionAcls {
    /// Number of the tenant.
    #[key]
    pub tenant: TenantId,
    /// ACLs in order of evaluation.
    pub lists: Vec<AclNumber>,
    /// Whether the lists are asked again about each live session, by its next packet, after one of them or this object has changed.
    #[default(false)]
    pub recheck: bool,
}

/// Checks the lists of a tenant.
pub(crate) fn check(acls: &SessionAcls) -> Result<(), ObjectError> {
    let lists = &acls.lists;
    let wrong = |what: String, remedy: &str| Err(ObjectError::field("lists", what).remedy(remedy));
    match lists.iter().enumerate().find(|(place, list)| lists[..*place].contains(list)) {
        Some((_, twice)) => wrong(format!("list {} is there twice", twice.0), "give it once"),
        None if lists.is_empty() => wrong("there is none".to_owned(), "give one, or delete the object"),
        None if lists.len() > LISTS_MAX => wrong(format!("there are {} lists", lists.len()), "give at most 255"),
        None => Ok(()),
    }
}

pub(crate) fn apply(control: &Control, change: Change<'_, SessionAcls>) -> Result<(), ObjectError> {
    let (old, new) = change.sides();
    let Some(tenant) = new.or(old).map(|acls| &acls.tenant) else { return Ok(()) };
    let slot = control.room::<Tenants>().slot(tenant.0).ok_or_else(|| {
        ObjectError::field("tenant", format!("there is no tenant {tenant}")).remedy("add it first, or name another one")
    })?;
    let lists = new.map(|acls| TenantLists {
        lists: acls.lists.iter().map(|list| list.0).collect::<Arc<[u32]>>(),
        revision: 0,
        rechecks: acls.recheck,
    });
    control.room_mut::<Acls>().set_tenant(slot, lists);
    Ok(())
}
