//! Routes that lead back into a bridge: the kind of next hop `dvr`, whose packets the bridge's node `l2-dvr` takes.
#![forbid(unsafe_code)]

use quiver_bridge::dvr::NAME;
use quiver_compat::types::FibPathType;
use quiver_control::Control;
use quiver_ip::IpError;
use quiver_ip::fib::kind::{NextHopKind, Of};

static KIND: NextHopKind = NextHopKind {
    name: "dvr",
    help: "leave by this interface of the bridge that they came from, in the same frames",
    of: Of::Interface,
    nodes: [NAME, NAME],
    path_type: FibPathType::Dvr,
};

/// Registers the kind. The rooms of bridges and of IP are registered before.
pub fn register(control: &Control) -> Result<(), IpError> {
    quiver_ip::register_kind(control, &KIND)
}
