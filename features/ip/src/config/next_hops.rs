//! Next hops of kinds that other rooms bring: how a kind is registered, and how a configured path leads to one.

use quiver_control::{Control, ObjectError};
use quiver_engine::{ArcSpec, Dataplane, DataplaneError};
use quiver_interface::{InterfaceName, Interfaces};

use crate::config::error::IpError;
use crate::config::objects::NextHop;
use crate::config::room::Ip;
use crate::family::Family;
use crate::fib::Target;
use crate::fib::hop::KindHop;
use crate::fib::kind::{NextHopKind, Of};

/// Registers a kind of next hop of a family, whose packets go to a node.
pub(crate) fn register<F: Family>(
    control: &Control,
    spec: &'static NextHopKind,
    node: &'static str,
) -> Result<(), IpError> {
    let mut ip = control.room_mut::<Ip<F>>();
    let kind = ip.fib.kinds.register(spec)?;
    let arc = control.room_mut::<Dataplane>().blueprint().add_arc(F::NAMES.again, ArcSpec::to_node(node));
    let arc = arc.map_err(DataplaneError::from)?;
    ip.published.kind_arcs.update(|arcs| {
        let mut arcs = *arcs;
        arcs[kind.place()] = arc;
        arcs
    });
    Ok(())
}

/// A path to a next hop of a kind that a room has registered.
pub(crate) fn target<F: Family>(
    control: &Control,
    to: &NextHop,
    interface: Option<&InterfaceName>,
) -> Result<Target<F>, ObjectError> {
    let wrong = |what: String, remedy: String| Err(ObjectError::field("to", what).remedy(remedy));
    let ip = control.room::<Ip<F>>();
    let Some(kind) = ip.fib.kinds.named(&to.kind) else {
        let known: Vec<_> = ip.fib.kinds.iter().map(|kind| kind.spec().name).collect();
        return wrong(
            format!("`{}` is no kind of next hop", to.kind),
            format!("give one of these: {}", known.join(", ")),
        );
    };
    match (kind.spec().of, to.number, interface) {
        (Of::Interface, None, Some(name)) => {
            let id = control.room::<Interfaces>().id_of(&name.0)?;
            Ok(Target::Kind(kind, id.0))
        }
        (Of::Interface, ..) => wrong(
            format!("packets leave by an interface: {}", kind.spec().help),
            format!("write `to: {}`, and the interface", to.kind),
        ),
        (Of::Number, Some(number), None) if number < KindHop::INDEXES => Ok(Target::Kind(kind, number)),
        (Of::Number, ..) => wrong(
            format!("it does not say which {}", to.kind),
            format!("write its number, such as `to: {} 0`, and no interface", to.kind),
        ),
    }
}
