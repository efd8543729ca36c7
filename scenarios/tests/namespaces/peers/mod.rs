//! Linux hosts in namespaces speak to a router, through it to each other, and beside it: whatever it does must be what Linux
//! expects, and where both do the same thing, the same.

mod fragments;
mod ip4;
mod ip6;
mod programs;
mod routes;
mod site;
mod slaac;
mod switch;
mod tunnels;

use quiver_netns::World;
use quiver_testkit::trials::Trial;

pub const TRIALS: &[Trial<World>] = &[
    ("hosts_ping_each_other_and_the_router", ip6::pings),
    ("a_host_is_told_where_its_packets_end", ip6::errors),
    ("the_longest_echo_requests_are_answered", ip6::longest),
    ("a_host_finds_out_what_the_way_takes", ip6::path_mtu),
    ("a_host_does_not_take_the_routers_address", ip6::duplicate),
    ("a_host_hears_the_groups_that_it_has_joined", ip6::groups),
    ("a_host_answers_whoever_asks_a_group_that_it_has_joined", ip6::groups6),
    ("fragments_of_ip4_are_made_and_put_together", ip4::fragments),
    ("a_host_finds_out_what_the_way_takes_by_ip4", ip4::path_mtu),
    ("traceroute_sees_the_way_and_tracepath_what_it_takes", programs::traces),
    ("arping_finds_the_router_and_its_announcements_are_heard", programs::arping),
    ("a_host_makes_itself_an_address_of_our_prefix", slaac::host),
    ("we_make_ourselves_an_address_of_a_linux_routers_prefix", slaac::router),
    ("a_network_goes_on_behind_a_vxlan_tunnel_to_linux", tunnels::vxlan),
    ("a_network_goes_on_behind_a_geneve_tunnel_to_open_vswitch", tunnels::geneve),
    ("random_tables_of_ip4_route_as_linux_does", routes::ip4),
    ("random_tables_of_ip6_route_as_linux_does", routes::ip6),
    ("random_fragments_of_ip4_are_put_together_as_linux_does", fragments::ip4),
    ("random_fragments_of_ip6_are_put_together_as_linux_does", fragments::ip6),
];
