//! Links: what Linux says of them, and what is set on the end of ours that Linux holds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use futures_util::TryStreamExt;
use quiver_control::ObjectError;
use quiver_wire::{InterfaceAddress, MacAddress, V4, V6};
use rtnetlink::packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder, new_connection};

use crate::{Capability, LinuxError, Namespace};

/// Bytes of an interface's name at most (`IFNAMSIZ`, which counts the zero at the end).
const NAME_MAX: usize = 15;

/// State of an interface in Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number in its namespace.
    pub index: u32,
    /// Its address.
    pub mac: MacAddress,
    /// Bytes of a packet at most, from the layer 3 header on.
    pub mtu: u32,
    /// Whether packets can pass: it is up, and has a carrier.
    pub running: bool,
}

/// Settings of the Linux end of an interface.
#[derive(Debug, Clone, Default)]
pub struct HostSide {
    /// Its address; without it, as Linux chose.
    pub mac: Option<MacAddress>,
    /// Its MTU; without it, Linux's default.
    pub mtu: Option<u16>,
    /// Packets that Linux keeps for us while we are busy; without it, Linux's default.
    pub queue_length: Option<u32>,
    /// The Linux bridge to make it a port of.
    pub bridge: Option<String>,
    /// Its IPv4 address.
    pub ip4: Option<InterfaceAddress<V4>>,
    /// The gateway of its namespace's default route.
    pub ip4_gateway: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ip6: Option<InterfaceAddress<V6>>,
    /// The gateway of its namespace's default route for IPv6.
    pub ip6_gateway: Option<Ipv6Addr>,
}

/// Checks that Linux takes a name for an interface (`dev_valid_name`).
///
/// # Errors
/// Naming this field.
pub fn check_link_name(name: &str, field: &str) -> Result<(), ObjectError> {
    let is_wrong = |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace();
    if name.is_empty() || name.len() > NAME_MAX || name == "." || name == ".." || name.bytes().any(is_wrong) {
        let what = format!("'{name}' is no name of a Linux interface");
        let remedy = format!("1 to {NAME_MAX} characters without spaces, slashes and colons");
        return Err(ObjectError::field(field, what).remedy(remedy));
    }
    Ok(())
}

impl Link {
    /// The interface of this name in a namespace.
    pub fn find(namespace: &Namespace, name: &str) -> Result<Link, LinuxError> {
        let missing = || LinuxError::NoLink { name: name.into(), namespace: namespace.name().into() };
        let message =
            with_netlink(namespace, |netlink| async move { netlink.find(name).await })?.ok_or_else(missing)?;
        Ok(Link::of(&message))
    }

    /// Deletes the interface, at once for all who look for it. One that is gone already is as good as deleted.
    pub fn delete(&self, namespace: &Namespace) -> Result<(), LinuxError> {
        with_netlink(namespace, |netlink| async move {
            match netlink.0.link().del(self.index).execute().await {
                Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == -nix::libc::ENODEV => Ok(()),
                deleted => deleted.map_err(|error| refused(format!("delete the interface {}", self.index), error)),
            }
        })
    }

    pub(crate) fn of(message: &LinkMessage) -> Link {
        let running = LinkFlags::Up | LinkFlags::Running;
        let mut link = Link {
            index: message.header.index,
            mac: MacAddress::ZERO,
            mtu: 0,
            running: message.header.flags.contains(running),
        };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
                LinkAttribute::Address(address) => {
                    link.mac = address.as_slice().try_into().map_or(MacAddress::ZERO, MacAddress);
                }
                _ => {}
            }
        }
        link
    }
}

impl HostSide {
    /// Sets all this on the interface of this name, brings it up, and returns what became of it.
    pub fn apply(&self, namespace: &Namespace, name: &str) -> Result<Link, LinuxError> {
        let missing = || LinuxError::NoLink { name: name.into(), namespace: namespace.name().into() };
        with_netlink(namespace, |netlink| async move {
            let Some(link) = netlink.find(name).await? else { return Ok(None) };
            let index = link.header.index;
            if let Some(mac) = self.mac {
                let link = LinkUnspec::new_with_index(index).address(mac.0.to_vec());
                netlink.set(&format!("set the address of {name} to {mac}"), link.build()).await?;
            }
            if let Some(mtu) = self.mtu {
                let link = LinkUnspec::new_with_index(index).mtu(mtu.into());
                netlink.set(&format!("set the MTU of {name} to {mtu}"), link.build()).await?;
            }
            if let Some(length) = self.queue_length {
                let link = LinkUnspec::new_with_index(index).txqueuelen(length);
                netlink.set(&format!("make the queue of {name} {length} packets long"), link.build()).await?;
            }
            if let Some(bridge) = &self.bridge {
                let missing = || LinuxError::NoLink { name: bridge.clone(), namespace: namespace.name().into() };
                let controller = netlink.find(bridge).await?.ok_or_else(missing)?.header.index;
                let link = LinkUnspec::new_with_index(index).controller(controller);
                netlink.set(&format!("make {name} a port of {bridge}"), link.build()).await?;
            }
            netlink.set(&format!("set {name} up"), LinkUnspec::new_with_index(index).up().build()).await?;
            let addresses = [
                self.ip4.map(|ip4| (IpAddr::V4(ip4.address()), ip4.length())),
                self.ip6.map(|ip6| (IpAddr::V6(ip6.address()), ip6.length())),
            ];
            for (address, length) in addresses.into_iter().flatten() {
                let added = netlink.0.address().add(index, address, length).execute().await;
                added.map_err(|error| refused(format!("give {name} the address {address}/{length}"), error))?;
            }
            if let Some(gateway) = self.ip4_gateway {
                let route = RouteMessageBuilder::<Ipv4Addr>::new().gateway(gateway).output_interface(index).build();
                netlink.route(gateway.into(), route).await?;
            }
            if let Some(gateway) = self.ip6_gateway {
                let route = RouteMessageBuilder::<Ipv6Addr>::new().gateway(gateway).output_interface(index).build();
                netlink.route(gateway.into(), route).await?;
            }
            netlink.find(name).await
        })?
        .map(|message| Link::of(&message))
        .ok_or_else(missing)
    }
}

/// Requests to the kernel in one namespace.
struct Netlink(Handle);

/// Runs a row of requests inside a namespace, on a thread of its own, to their end.
fn with_netlink<T: Send, F: Future<Output = Result<T, LinuxError>>>(
    namespace: &Namespace,
    requests: impl FnOnce(Netlink) -> F + Send,
) -> Result<T, LinuxError> {
    let inside = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.map_err(|error| LinuxError::refused("wait for Linux's answers", error))?;
        runtime.block_on(async {
            let (connection, handle, _) =
                new_connection().map_err(|error| LinuxError::refused("open a netlink socket", error))?;
            tokio::spawn(connection);
            requests(Netlink(handle)).await
        })
    };
    namespace.within(inside)?
}

impl Netlink {
    async fn find(&self, name: &str) -> Result<Option<LinkMessage>, LinuxError> {
        let mut links = self.0.link().get().match_name(name).execute();
        match links.try_next().await {
            Ok(link) => Ok(link),
            Err(rtnetlink::Error::NetlinkError(error)) if error.raw_code() == -nix::libc::ENODEV => Ok(None),
            Err(error) => Err(refused(format!("look for the interface {name}"), error)),
        }
    }

    async fn set(&self, action: &str, link: LinkMessage) -> Result<(), LinuxError> {
        self.0.link().set(link).execute().await.map_err(|error| refused(action, error))
    }

    async fn route(
        &self,
        gateway: IpAddr,
        route: rtnetlink::packet_route::route::RouteMessage,
    ) -> Result<(), LinuxError> {
        let added = self.0.route().add(route).execute().await;
        added.map_err(|error| refused(format!("make {gateway} the default gateway"), error))
    }
}

fn refused(action: impl Into<String>, error: rtnetlink::Error) -> LinuxError {
    let source = match &error {
        rtnetlink::Error::NetlinkError(message) => std::io::Error::from_raw_os_error(-message.raw_code()),
        other => std::io::Error::other(other.to_string()),
    };
    LinuxError::of_right(action, source, Capability::NetAdmin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found_and_a_stranger_is_not() {
        let own = Namespace::find(None).expect("it is there");
        let lo = Link::find(&own, "lo").expect("every namespace has it");
        assert_eq!((lo.index, lo.mac), (1, MacAddress::ZERO));
        let error = Link::find(&own, "no-such-if").expect_err("there is none");
        assert!(matches!(error, LinuxError::NoLink { .. }), "{error}");
    }
}
