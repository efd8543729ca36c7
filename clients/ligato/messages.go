package main

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/af_packet"
	"go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/dns"
	"go.fd.io/govpp/binapi/flowprobe"
	"go.fd.io/govpp/binapi/gre"
	"go.fd.io/govpp/binapi/gtpu"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip6_nd"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ipfix_export"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/l2"
	"go.fd.io/govpp/binapi/l3xc"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/memif"
	"go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/punt"
	"go.fd.io/govpp/binapi/rd_cp"
	"go.fd.io/govpp/binapi/rdma"
	"go.fd.io/govpp/binapi/span"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/stn"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/teib"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vmxnet3"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/binapi/vrrp"
	"go.fd.io/govpp/binapi/vxlan"
	"go.fd.io/govpp/binapi/vxlan_gpe"
	"go.fd.io/govpp/binapi/wireguard"
)

// Files of messages that the agent's version for VPP 23.06 calls its core.
var coreMessages = []func() []api.Message{
	af_packet.AllMessages, arp.AllMessages, bond.AllMessages, gre.AllMessages, interfaces.AllMessages, ip.AllMessages,
	ip6_nd.AllMessages, ip_neighbor.AllMessages, ipfix_export.AllMessages, ipip.AllMessages, ipsec.AllMessages,
	l2.AllMessages, memclnt.AllMessages, punt.AllMessages, rd_cp.AllMessages, span.AllMessages, sr.AllMessages,
	tapv2.AllMessages, teib.AllMessages, vlib.AllMessages, vpe.AllMessages, vxlan.AllMessages, vxlan_gpe.AllMessages,
}

// And those of VPP's plugins that it can use.
var pluginMessages = []func() []api.Message{
	abf.AllMessages, acl.AllMessages, dhcp.AllMessages, dns.AllMessages, flowprobe.AllMessages, gtpu.AllMessages,
	l3xc.AllMessages, memif.AllMessages, nat44_ed.AllMessages, nat44_ei.AllMessages, rdma.AllMessages, stn.AllMessages,
	vmxnet3.AllMessages, vrrp.AllMessages, wireguard.AllMessages,
}
