//! Interfaces whose received packets belong to sessions of a tenant.

use std::io;
use std::marker::PhantomData;

use quiver_control::{Control, Object, ObjectError};
use quiver_engine::{FeatureSpec, Phase};
use quiver_interface::{Direction, FeatureNode, InterfaceFeature, InterfaceName};
use quiver_ip::Family;

use crate::expiry::begin;
use crate::tenant::{TenantId, Tenants};

quiver_ip::of_families! {
    /// A family whose packets have sessions. Nodes have VPP's names.
    pub trait Tracked: Family {
        /// The kind of the objects.
        const KIND: &'static str = "session-interfaces", "ip6-session-interfaces";
        /// The node that finds the tenant of received packets.
        const FEATURE: &'static str = "sfdp-interface-input-ip4", "sfdp-interface-input-ip6";
        /// The node that finds sessions.
        const LOOKUP: &'static str = "sfdp-lookup-ip4", "sfdp-lookup-ip6";
    }
}

/// Tenant of the sessions of received packets.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::KIND)]
pub struct SessionInterface<F: Tracked> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Tenant to which the packets belong.
    pub tenant: TenantId,
    /// Those of one interface for two families are two.
    pub family: PhantomData<F>,
}

impl<F: Tracked> SessionInterface<F> {
    /// Received packets of an interface belong to a tenant.
    pub fn of(interface: InterfaceName, tenant: u32) -> SessionInterface<F> {
        SessionInterface { interface, tenant: TenantId(tenant), family: PhantomData }
    }
}

impl<F: Tracked> InterfaceFeature for SessionInterface<F> {
    /// The slot of the tenant.
    type Setting = u32;
    const NODES: &'static [FeatureNode] =
        &[FeatureNode::new(Direction::Rx, FeatureSpec::new(F::NAMES.unicast, F::FEATURE, Phase::Session))];
    fn enables(&self, _: &FeatureNode) -> bool {
        true
    }
    fn word(&self, control: &Control, _: Direction) -> Result<u32, ObjectError> {
        enter(control, &self.tenant)
    }
}

/// The slot of the tenant to which packets of an interface are to belong, which nodes like `sfdp-interface-input-ip4` put into the column
/// `hop`. Makes the table of sessions.
///
/// # Errors
/// If there is no such tenant, or no address space for the table.
pub fn enter(control: &Control, tenant: &TenantId) -> Result<u32, ObjectError> {
    begin(control).map_err(no_space)?;
    let slot = control.room::<Tenants>().slot(tenant.0);
    let unknown = || ObjectError::field("tenant", format!("there is no tenant {}", tenant.0));
    Ok(slot.ok_or_else(unknown)?.into())
}

/// The error of an object that needs the table of sessions, for which the system has no address space.
pub fn no_space(error: io::Error) -> ObjectError {
    let what = format!("the table of sessions cannot be made ({error})");
    ObjectError::whole(what).remedy("start quiverd with a smaller number of `--sessions`")
}
