package main

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/arp"
	"go.fd.io/govpp/binapi/bond"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/gre"
	"go.fd.io/govpp/binapi/gtpu"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
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
	"go.fd.io/govpp/binapi/span"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/stn"
	"go.fd.io/govpp/binapi/tapv2"
	"go.fd.io/govpp/binapi/teib"
	"go.fd.io/govpp/binapi/vmxnet3"
	"go.fd.io/govpp/binapi/vrrp"
	"go.fd.io/govpp/binapi/vxlan"
	"go.fd.io/govpp/binapi/vxlan_gpe"
	"go.fd.io/govpp/binapi/wireguard"
	"go.fd.io/govpp/core"
)

// Every interface, domain, list or whatever else is meant by a number.
const every = ^uint32(0)

// everyInterface is the same as a number of interfaces.
const everyInterface = ^interface_types.InterfaceIndex(0)

// resync dumps what there is, as the agent does before it configures anything, and prints how much of each came.
func resync(conn *core.Connection) error {
	for _, request := range []api.Message{
		&interfaces.SwInterfaceDump{SwIfIndex: everyInterface},
		&ip.IPTableDump{},
		&ip_neighbor.IPNeighborDump{SwIfIndex: everyInterface, Af: ip_types.ADDRESS_IP4},
		&ip_neighbor.IPNeighborDump{SwIfIndex: everyInterface, Af: ip_types.ADDRESS_IP6},
		&tapv2.SwInterfaceTapV2Dump{SwIfIndex: everyInterface},
		&memif.MemifSocketFilenameDump{},
		&memif.MemifDump{},
		&vxlan.VxlanTunnelDump{SwIfIndex: everyInterface},
		&vxlan_gpe.VxlanGpeTunnelDump{SwIfIndex: everyInterface},
		&gre.GreTunnelDump{SwIfIndex: everyInterface},
		&gtpu.GtpuTunnelDump{SwIfIndex: everyInterface},
		&ipip.IpipTunnelDump{SwIfIndex: everyInterface},
		&bond.SwBondInterfaceDump{SwIfIndex: everyInterface},
		&vmxnet3.SwVmxnet3InterfaceDump{SwIfIndex: everyInterface},
		&interfaces.SwInterfaceRxPlacementDump{SwIfIndex: everyInterface},
		&span.SwInterfaceSpanDump{},
		&span.SwInterfaceSpanDump{IsL2: true},
		&wireguard.WireguardInterfaceDump{SwIfIndex: everyInterface},
		&wireguard.WireguardPeersDump{PeerIndex: every},
		&l2.BridgeDomainDump{BdID: every, SwIfIndex: everyInterface},
		&l2.L2FibTableDump{BdID: every},
		&l2.L2XconnectDump{},
		&l2.BdIPMacDump{BdID: every},
		&arp.ProxyArpDump{},
		&arp.ProxyArpIntfcDump{},
		&ip.IPPuntRedirectDump{SwIfIndex: everyInterface},
		&punt.PuntSocketDump{Type: punt.PUNT_API_TYPE_L4},
		&punt.PuntReasonDump{},
		&dhcp.DHCPClientDump{},
		&dhcp.DHCPProxyDump{},
		&dhcp.DHCPProxyDump{IsIP6: true},
		&acl.ACLDump{ACLIndex: every},
		&acl.ACLInterfaceListDump{SwIfIndex: everyInterface},
		&acl.MacipACLDump{ACLIndex: every},
		&acl.MacipACLInterfaceListDump{SwIfIndex: everyInterface},
		&abf.AbfPolicyDump{},
		&abf.AbfItfAttachDump{},
		&ipsec.IpsecSpdsDump{},
		&ipsec.IpsecSpdDump{SpdID: every, SaID: every},
		&ipsec.IpsecSaV3Dump{SaID: every},
		&ipsec.IpsecSpdInterfaceDump{},
		&ipsec.IpsecTunnelProtectDump{SwIfIndex: everyInterface},
		&stn.StnRulesDump{},
		&sr.SrLocalsidsDump{},
		&l3xc.L3xcDump{SwIfIndex: everyInterface},
		&vrrp.VrrpVrDump{SwIfIndex: everyInterface},
		&teib.TeibDump{},
		&ipfix_export.IpfixExporterDump{},
		&nat44_ed.Nat44InterfaceDump{},
		&nat44_ed.Nat44AddressDump{},
		&nat44_ed.Nat44StaticMappingDump{},
		&nat44_ed.Nat44LbStaticMappingDump{},
		&nat44_ed.Nat44IdentityMappingDump{},
		&nat44_ei.Nat44EiInterfaceDump{},
		&nat44_ei.Nat44EiAddressDump{},
		&nat44_ei.Nat44EiStaticMappingDump{},
		&nat44_ei.Nat44EiIdentityMappingDump{},
	} {
		if _, err := dump(conn, request); err != nil {
			return err
		}
	}
	return ofEach(conn)
}

// ofEach dumps what belongs to each interface and each table.
func ofEach(conn *core.Connection) error {
	found, err := dump(conn, &interfaces.SwInterfaceDump{SwIfIndex: everyInterface})
	if err != nil {
		return err
	}
	for _, details := range found {
		index := details.(*interfaces.SwInterfaceDetails).SwIfIndex
		for _, request := range []api.Message{
			&ip.IPAddressDump{SwIfIndex: index},
			&ip.IPAddressDump{SwIfIndex: index, IsIPv6: true},
			&ip.IPUnnumberedDump{SwIfIndex: index},
			&bond.SwMemberInterfaceDump{SwIfIndex: index},
		} {
			if _, err := dump(conn, request); err != nil {
				return err
			}
		}
		table := interfaces.SwInterfaceGetTable{SwIfIndex: index}
		if _, err := interfaces.NewServiceClient(conn).SwInterfaceGetTable(context.Background(), &table); err != nil {
			return fmt.Errorf("sw_interface_get_table %d: %w", index, err)
		}
	}
	found, err = dump(conn, &ip.IPTableDump{})
	if err != nil {
		return err
	}
	for _, details := range found {
		if _, err := dump(conn, &ip.IPRouteDump{Table: details.(*ip.IPTableDetails).Table}); err != nil {
			return err
		}
	}
	return nil
}

// dump asks, pings, and gives what came before the answer to the ping.
func dump(conn *core.Connection, request api.Message) ([]api.Message, error) {
	stream, err := conn.NewStream(context.Background())
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	for _, message := range []api.Message{request, &memclnt.ControlPing{}} {
		if err := stream.SendMsg(message); err != nil {
			return nil, fmt.Errorf("%s: %w", request.GetMessageName(), err)
		}
	}
	var all []api.Message
	for {
		message, err := stream.RecvMsg()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", request.GetMessageName(), err)
		}
		if _, ended := message.(*memclnt.ControlPingReply); ended {
			fmt.Printf("%s: %d\n", request.GetMessageName(), len(all))
			return all, nil
		}
		all = append(all, message)
	}
}

// refuse asks for what the daemon does not have; the agent goes on without it.
func refuse(conn *core.Connection) error {
	ctx := context.Background()
	_, nat44 := nat44_ed.NewServiceClient(conn).Nat44ShowRunningConfig(ctx, &nat44_ed.Nat44ShowRunningConfig{})
	_, nat44ei := nat44_ei.NewServiceClient(conn).Nat44EiShowRunningConfig(ctx, &nat44_ei.Nat44EiShowRunningConfig{})
	_, reassembly := ip.NewServiceClient(conn).IPReassemblyGet(ctx, &ip.IPReassemblyGet{})
	_, tunnel := gre.NewServiceClient(conn).GreTunnelAddDel(ctx, &gre.GreTunnelAddDel{IsAdd: true})
	for _, one := range []struct {
		name string
		err  error
	}{
		{"nat44_show_running_config", nat44},
		{"nat44_ei_show_running_config", nat44ei},
		{"ip_reassembly_get", reassembly},
		{"gre_tunnel_add_del", tunnel},
	} {
		switch {
		case one.err == nil:
			fmt.Printf("%s: done\n", one.name)
		case errors.Is(one.err, api.UNIMPLEMENTED):
			fmt.Printf("%s: unimplemented\n", one.name)
		default:
			return fmt.Errorf("%s: %w", one.name, one.err)
		}
	}
	return nil
}
