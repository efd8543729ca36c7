//! The features of VPP that Quiver does not have yet, with the words with which their commands begin. The command line refuses these
//! by the feature's name, and the migration guide prints this table.

use quiver_control::Control;

/// A feature that is missing.
pub struct Missing {
    /// Its name, behind "Quiver has no".
    pub feature: &'static str,
    /// The words with which its commands begin, except those of other rooms' commands.
    pub commands: &'static [&'static str],
}

const fn missing(feature: &'static str, commands: &'static [&'static str]) -> Missing {
    Missing { feature, commands }
}

/// All of them.
pub const MISSING: &[Missing] = &[
    missing("6rd tunnels", &["create 6rd", "delete 6rd"]),
    missing("ADL (allowlists of sources)", &["adl"]),
    missing("AF_XDP driver", &["create interface af_xdp", "delete interface af_xdp"]),
    missing("BFD", &["bfd", "show bfd"]),
    missing("BIER", &["bier", "show bier"]),
    missing("CDP", &["cdp", "show cdp"]),
    missing("CNAT", &["cnat", "set cnat", "show cnat"]),
    missing("DHCP", &["dhcp6", "set dhcp", "set dhcpv6", "show dhcp", "show dhcp6", "show dhcpv6"]),
    missing("DNS resolver", &["dns", "show dns"]),
    missing("DPDK driver", &["dpdk", "set dpdk", "show dpdk"]),
    missing("DS-Lite", &["dslite", "show dslite"]),
    missing("GRE tunnels", &["create gre", "delete gre", "show gre"]),
    missing(
        "GTP-U tunnels",
        &["create gtpu", "set interface ip gtpu-bypass", "set interface ip6 gtpu-bypass", "show gtpu"],
    ),
    missing("HTTP servers", &["http", "show http"]),
    missing("IGMP", &["igmp", "show igmp"]),
    missing("IKEv2", &["ikev2", "set ikev2", "show ikev2"]),
    missing("IOAM", &["set ioam", "set ioam-trace", "show ioam", "show ioam-trace"]),
    missing("IPFIX export", &["flowprobe", "ipfix", "set ipfix", "show flowprobe", "show ipfix"]),
    missing("IPIP tunnels", &["create ipip", "delete ipip", "show ipip"]),
    missing(
        "IPsec",
        &["clear ipsec", "create ipsec", "ipsec", "set interface ipsec", "set ipsec", "show crypto", "show ipsec"],
    ),
    missing("L2TPv3 tunnels", &["create l2tpv3", "set interface ip6 l2tpv3", "set l2tpv3", "show l2tpv3"]),
    missing("LACP", &["debug lacp", "show lacp"]),
    missing("LISP", &["gpe", "lisp", "one", "show gpe", "show lisp", "show one"]),
    missing("LLDP", &["lldp", "set interface lldp", "set lldp", "show lldp"]),
    missing("MAP-E and MAP-T", &["map", "show map"]),
    missing("MPLS", &["mpls", "set interface mpls", "show mpls"]),
    missing(
        "NAT44's IPFIX export, MSS clamping, worker lists and VRF routes",
        &["nat ipfix", "nat mss-clamping", "nat44 vrf", "set nat workers", "set nat44", "show nat workers"],
    ),
    missing("NAT64", &["nat64", "set interface nat64", "show nat64"]),
    missing("NAT66", &["nat66", "set interface nat66", "set npt66", "show nat66", "show npt66"]),
    missing("NSH", &["create nsh", "show nsh"]),
    missing("PPPoE", &["create pppoe", "show pppoe"]),
    missing("QUIC", &["quic", "set quic", "show quic"]),
    missing("QoS marking", &["qos", "show qos"]),
    missing("RDMA driver", &["create interface rdma", "delete interface rdma"]),
    missing("SPAN (mirrored ports)", &["set interface span", "show interface span"]),
    missing("SRv6", &["clear sr", "set sr", "show sr", "sr localsid", "sr policy", "sr pt", "sr steer"]),
    missing("SR-MPLS", &["show sr mpls", "sr mpls"]),
    missing("TEIB", &["create teib", "delete teib", "show teib"]),
    missing("VRRP", &["show vrrp", "vrrp"]),
    missing("VXLAN-GPE tunnels", &["create vxlan-gpe", "show vxlan-gpe"]),
    missing("WireGuard", &["set wireguard", "show wireguard", "wireguard"]),
    missing("bonded interfaces", &["bond", "create bond", "delete bond", "set interface bond", "show bond"]),
    missing(
        "classifier tables at interfaces",
        &[
            "classify session",
            "classify table",
            "set flow classify",
            "set interface input acl",
            "set interface output acl",
            "set ip classify",
            "set ip6 classify",
            "set policer classify",
            "show inacl",
            "show outacl",
        ],
    ),
    missing("deterministic NAT", &["det44", "set interface det44", "show det44"]),
    missing("event log", &["event-logger", "show event-logger"]),
    missing(
        "host stack",
        &[
            "app crypto",
            "app evt-collector",
            "app ns",
            "clear tcp",
            "session",
            "set tcp",
            "show app",
            "show segment-manager",
            "show tcp",
            "tcp",
            "test echo",
        ],
    ),
    missing("interfaces mirrored into Linux", &["lcp", "show lcp"]),
    missing("load balancer", &["lb", "show lb"]),
    missing("network simulator", &["nsim", "set nsim", "show nsim"]),
    missing("API rings in shared memory", &["show api ring-stats"]),
    missing("performance monitor by hardware counters", &["perfmon", "show perfmon"]),
    missing("policers at interfaces", &["policer bind", "policer input", "policer output"]),
    missing("sFlow", &["sflow", "show sflow"]),
    missing("switch for promiscuous mode", &["set interface promiscuous"]),
    missing("vhost-user driver", &["create vhost-user", "delete vhost-user", "show vhost-user"]),
    missing(
        "native drivers",
        &[
            "create interface idpf",
            "create interface virtio",
            "create interface vmxnet3",
            "device",
            "set virtio",
            "show device",
            "show virtio",
            "show vmxnet3",
        ],
    ),
];

/// Has the command line refuse the commands of features that are missing by these features' names.
pub fn register(control: &Control) {
    for Missing { feature, commands } in MISSING {
        for words in *commands {
            let told = format!("Quiver has no {feature} yet; see docs/migration.md");
            control.commands().add_missing(words, told);
        }
    }
}
