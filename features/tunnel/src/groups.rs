//! Groups that interfaces are in for tunnels to these groups.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use quiver_control::Control;
use quiver_interface::InterfaceId;
use quiver_ip::{Family, Ip};
use quiver_wire::{V4, V6};

/// Number of tunnels that keep an interface in a group.
#[derive(Default)]
pub(crate) struct Groups(BTreeMap<(InterfaceId, IpAddr), u32>);

/// Under which name interfaces are in groups for tunnels.
const ROOM: &str = "tunnels";

/// Counts a tunnel that needs its interface in a group; the first one joins it.
pub(crate) fn join(control: &Control, interface: InterfaceId, group: IpAddr) {
    *control.room_mut::<Groups>().0.entry((interface, group)).or_default() += 1;
    follow(control, interface);
}

/// Counts a tunnel less; the last one leaves the group.
pub(crate) fn leave(control: &Control, interface: InterfaceId, group: IpAddr) {
    {
        let groups = &mut control.room_mut::<Groups>().0;
        if let Some(users) = groups.get_mut(&(interface, group)) {
            *users -= 1;
            if *users == 0 {
                groups.remove(&(interface, group));
            }
        }
    }
    follow(control, interface);
}

fn follow(control: &Control, interface: InterfaceId) {
    let of_interface: Vec<IpAddr> = {
        let groups = control.room::<Groups>();
        let all = groups.0.range((interface, IpAddr::from([0, 0, 0, 0]))..);
        all.take_while(|((of, _), _)| *of == interface).map(|((_, group), _)| *group).collect()
    };
    join_all::<V4>(control, interface, &of_interface);
    join_all::<V6>(control, interface, &of_interface);
    // Routers are told to which groups of IPv6 we listen.
    quiver_mld::follow(control, interface);
}

fn join_all<F: Family>(control: &Control, interface: InterfaceId, groups: &[IpAddr]) {
    let of_family: BTreeSet<_> = groups.iter().filter_map(|group| F::from_ip(*group)).collect();
    control.room_mut::<Ip<F>>().join(interface, ROOM, &of_family);
}
