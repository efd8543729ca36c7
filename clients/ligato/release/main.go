// release is a client of VPP 23.06 as GoVPP 0.8.0 has its messages: it says which of them a daemon has with another checksum,
// or not at all, and configures an interface with an address and a route.
//
//	go run ./release -socket /run/old.sock
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"

	"go.fd.io/govpp"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/fib_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/core"
)

func main() {
	socket := flag.String("socket", "/run/vpp/api.sock", "path of the daemon's API socket")
	flag.Parse()
	conn, err := govpp.Connect(*socket)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Disconnect()
	for _, step := range []func(*core.Connection) error{compare, configure, refused} {
		if err := step(conn); err != nil {
			log.Fatal(err)
		}
	}
}

// compare says which messages are not there by name and checksum.
func compare(conn *core.Connection) error {
	channel, err := conn.NewAPIChannel()
	if err != nil {
		return err
	}
	defer channel.Close()
	var all []api.Message
	for _, messages := range api.GetRegisteredMessages() {
		for _, message := range messages {
			all = append(all, message)
		}
	}
	var missing *api.CompatibilityError
	if err := channel.CheckCompatiblity(all...); errors.As(err, &missing) {
		for _, message := range missing.IncompatibleMessages {
			fmt.Println("missing:", message)
		}
	} else if err != nil {
		return err
	}
	fmt.Println("messages:", len(all))
	return nil
}

// configure makes a loopback, and says what there is then.
func configure(conn *core.Connection) error {
	ctx := context.Background()
	of, ipOf := interfaces.NewServiceClient(conn), ip.NewServiceClient(conn)
	loopback, err := of.CreateLoopback(ctx, &interfaces.CreateLoopback{})
	if err != nil {
		return err
	}
	index := loopback.SwIfIndex
	up := &interfaces.SwInterfaceSetFlags{SwIfIndex: index, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP}
	if _, err := of.SwInterfaceSetFlags(ctx, up); err != nil {
		return err
	}
	address, err := ip_types.ParseAddressWithPrefix("192.0.2.1/24")
	if err != nil {
		return err
	}
	add := &interfaces.SwInterfaceAddDelAddress{SwIfIndex: index, IsAdd: true, Prefix: address}
	if _, err := of.SwInterfaceAddDelAddress(ctx, add); err != nil {
		return err
	}
	to, err := ip_types.ParsePrefix("198.51.100.0/24")
	if err != nil {
		return err
	}
	drop := fib_types.FibPath{SwIfIndex: ^uint32(0), Type: fib_types.FIB_API_PATH_TYPE_DROP}
	route := ip.IPRouteV2{Prefix: to, NPaths: 1, Paths: []fib_types.FibPath{drop}}
	if _, err := ipOf.IPRouteAddDelV2(ctx, &ip.IPRouteAddDelV2{IsAdd: true, Route: route}); err != nil {
		return err
	}
	dump, err := of.SwInterfaceDump(ctx, &interfaces.SwInterfaceDump{SwIfIndex: index})
	if err != nil {
		return err
	}
	for {
		details, err := dump.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s: flags %d\n", details.InterfaceName, details.Flags)
	}
	found, err := ipOf.IPRouteLookup(ctx, &ip.IPRouteLookup{Prefix: to, Exact: 1})
	if err != nil {
		return err
	}
	fmt.Println("route:", found.Route.Prefix)
	if _, err := of.DeleteLoopback(ctx, &interfaces.DeleteLoopback{SwIfIndex: index}); err != nil {
		return err
	}
	return nil
}

// refused sends a message that later releases have with another checksum, and says why it is not done.
func refused(conn *core.Connection) error {
	_, err := cnat.NewServiceClient(conn).CnatTranslationUpdate(context.Background(), &cnat.CnatTranslationUpdate{})
	fmt.Println("cnat_translation_update:", err)
	return nil
}
