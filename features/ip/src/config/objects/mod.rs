//! The objects of IP that are configured: tables, which interface looks up in which, addresses and routes.

mod routes;
mod tables;

pub(super) use routes::check_route;
pub use routes::{NEXT_HOPS, NextHop, Route, RouteAction, RoutePath, check_paths};
pub(super) use tables::check_table;
pub use tables::{
    InterfaceAddress, InterfaceTable, IpTable, LinkLayerBroadcast, NoRoute, TableDefaults, TableNumber, TableSize,
};
