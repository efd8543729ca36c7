//! The object `Tap`.

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_control::Object;
use quiver_linux::HostSide;
use quiver_wire::{InterfaceAddress, UnicastMac, V4, V6};

quiver_control::number! {
    /// Number of a TAP device's queues; Linux allows 256.
    pub struct TapQueues(u16) in 1..=256 as "tap-queues";
}

quiver_control::number! {
    /// The MTU of a TAP device, within Linux's limits; below 1280 there is no IPv6, which is Linux's business.
    pub struct TapMtu(u16) in 68..=65521 as "tap-mtu";
}

/// TAP interface: a Linux Ethernet device with quiverd at its other end. Its Linux side is deleted with it.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "taps", provides = "interface")]
pub struct Tap {
    /// Name of the interface: tap and a number, such as tap0, or one that you choose, such as wan.
    #[key]
    pub name: String,
    /// MAC address of the interface. Default: a generated one.
    #[fixed]
    pub mac: Option<UnicastMac>,
    /// Number of receive queues, which different workers may poll.
    #[fixed]
    #[default(TapQueues::MIN)]
    pub rx_queues: TapQueues,
    /// Name of a descriptor that quiverd was started with (`LISTEN_FDNAMES`): the device behind it is used, in whatever namespace it
    /// is, and is configured there by its maker, so no `host` field goes with it. `rx-queues` is the number of descriptors of this name.
    #[fixed]
    pub descriptor: Option<String>,
    /// Whether it passes TCP packets that await segmentation or a checksum (GSO), which is much faster for TCP.
    #[fixed]
    #[default(true)]
    pub gso: bool,
    /// Network namespace of the Linux side, by name or path. Default: quiverd's own.
    #[fixed]
    pub host_namespace: Option<String>,
    /// Name of the Linux side. Default: that of the interface.
    #[fixed]
    pub host_interface: Option<String>,
    /// MAC address of the Linux side.
    #[fixed]
    pub host_mac: Option<UnicastMac>,
    /// MTU of both sides in bytes. Default: 1500.
    pub host_mtu: Option<TapMtu>,
    /// Linux bridge to which the Linux side is added.
    #[fixed]
    pub host_bridge: Option<String>,
    /// IPv4 address of the Linux side.
    #[fixed]
    pub host_ip4_address: Option<InterfaceAddress<V4>>,
    /// Gateway of the namespace's IPv4 default route.
    #[fixed]
    pub host_ip4_gateway: Option<Ipv4Addr>,
    /// IPv6 address of the Linux side.
    #[fixed]
    pub host_ip6_address: Option<InterfaceAddress<V6>>,
    /// Gateway of the namespace's IPv6 default route.
    #[fixed]
    pub host_ip6_gateway: Option<Ipv6Addr>,
}

/// Packets that Linux keeps for us in each queue. Its default of 500 is full after some milliseconds of small packets in
/// which the worker had no core.
const QUEUE_LENGTH: u32 = 2048;

impl Tap {
    /// The name of the Linux side.
    pub fn host_name(&self) -> &str {
        self.host_interface.as_deref().unwrap_or(&self.name)
    }
    /// Settings of the Linux side.
    pub(crate) fn host_side(&self) -> HostSide {
        HostSide {
            mac: self.host_mac.map(UnicastMac::get),
            mtu: self.host_mtu.map(TapMtu::get),
            queue_length: Some(QUEUE_LENGTH),
            bridge: self.host_bridge.clone(),
            ip4: self.host_ip4_address,
            ip4_gateway: self.host_ip4_gateway,
            ip6: self.host_ip6_address,
            ip6_gateway: self.host_ip6_gateway,
        }
    }
}
