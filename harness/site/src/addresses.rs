//! The addresses of a site.

use std::net::Ipv4Addr;

use crate::{Function, Join};

/// The addresses of a site's two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) client: Ipv4Addr,
    pub(crate) server: Ipv4Addr,
    /// On a routed site, the router's addresses towards client and server.
    pub(crate) gateways: Option<(Ipv4Addr, Ipv4Addr)>,
}

impl Addresses {
    pub(crate) fn of(join: Join) -> Self {
        match join {
            Join::Quiver { function: Function::Router, .. } => Self {
                client: Ipv4Addr::new(10, 0, 1, 2),
                server: Ipv4Addr::new(10, 0, 2, 2),
                gateways: Some((Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 1))),
            },
            _ => Self { client: Ipv4Addr::new(10, 0, 0, 1), server: Ipv4Addr::new(10, 0, 0, 2), gateways: None },
        }
    }
}
