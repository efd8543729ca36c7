// interfaces does over the binary API what a controller does first: it asks for the version, creates a loopback, gives it an
// address, sets it up, hears of that, lists what is there, and leaves everything as it was.
//
//	go run ./interfaces -socket /run/vpp/api.sock
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"go.fd.io/govpp"
	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vpe"
)

func main() {
	socket := flag.String("socket", "/run/vpp/api.sock", "path of the daemon's API socket")
	address := flag.String("address", "192.0.2.1/24", "address of the loopback")
	flag.Parse()
	prefix, err := ip_types.ParseAddressWithPrefix(*address)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(*socket, prefix); err != nil {
		log.Fatal(err)
	}
}

func run(socket string, prefix ip_types.AddressWithPrefix) error {
	conn, err := govpp.Connect(socket)
	if err != nil {
		return err
	}
	defer conn.Disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	version, err := vpe.NewServiceClient(conn).ShowVersion(ctx, &vpe.ShowVersion{})
	if err != nil {
		return err
	}
	fmt.Printf("connected to %s %s\n", version.Program, version.Version)

	// Whoever wants events subscribes first, here and there, and misses none.
	watcher, err := conn.WatchEvent(ctx, (*interfaces.SwInterfaceEvent)(nil))
	if err != nil {
		return err
	}
	defer watcher.Close()
	client := interfaces.NewServiceClient(conn)
	want := interfaces.WantInterfaceEvents{PID: uint32(os.Getpid()), EnableDisable: 1}
	if _, err := client.WantInterfaceEvents(ctx, &want); err != nil {
		return err
	}

	loopback, err := client.CreateLoopback(ctx, &interfaces.CreateLoopback{})
	if err != nil {
		return err
	}
	index := loopback.SwIfIndex
	set := interfaces.SwInterfaceAddDelAddress{SwIfIndex: index, IsAdd: true, Prefix: prefix}
	if _, err := client.SwInterfaceAddDelAddress(ctx, &set); err != nil {
		return err
	}
	up := interfaces.SwInterfaceSetFlags{SwIfIndex: index, Flags: interface_types.IF_STATUS_API_FLAG_ADMIN_UP}
	if _, err := client.SwInterfaceSetFlags(ctx, &up); err != nil {
		return err
	}
	isUp := func(event *interfaces.SwInterfaceEvent) bool {
		return event.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0
	}
	if err := await(ctx, watcher, index, isUp); err != nil {
		return err
	}
	fmt.Printf("interface %d is up\n", index)

	if err := list(ctx, client, ip.NewServiceClient(conn)); err != nil {
		return err
	}

	// A refusal is an error of its own type, by which it is told from others.
	_, err = client.SwInterfaceSetFlags(ctx, &interfaces.SwInterfaceSetFlags{SwIfIndex: 1 << 30})
	var refusal api.VPPApiError
	if !errors.As(err, &refusal) {
		return fmt.Errorf("an interface that does not exist is set down: %v", err)
	}
	fmt.Printf("refused: %v\n", refusal)

	if _, err := client.DeleteLoopback(ctx, &interfaces.DeleteLoopback{SwIfIndex: index}); err != nil {
		return err
	}
	isDeleted := func(event *interfaces.SwInterfaceEvent) bool { return event.Deleted }
	if err := await(ctx, watcher, index, isDeleted); err != nil {
		return err
	}
	fmt.Printf("interface %d is deleted\n", index)
	return nil
}

// await returns when an event of the interface came that says what is waited for.
func await(
	ctx context.Context,
	watcher api.Watcher,
	index interface_types.InterfaceIndex,
	says func(*interfaces.SwInterfaceEvent) bool,
) error {
	for {
		select {
		case message := <-watcher.Events():
			event, ok := message.(*interfaces.SwInterfaceEvent)
			if ok && event.SwIfIndex == index && says(event) {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("no event of interface %d: %w", index, ctx.Err())
		}
	}
}

// list prints the interfaces and their addresses.
func list(ctx context.Context, client interfaces.RPCService, addresses ip.RPCService) error {
	every := interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)}
	dump, err := client.SwInterfaceDump(ctx, &every)
	if err != nil {
		return err
	}
	all, err := collect(dump.Recv)
	if err != nil {
		return err
	}
	for _, one := range all {
		dump, err := addresses.IPAddressDump(ctx, &ip.IPAddressDump{SwIfIndex: one.SwIfIndex})
		if err != nil {
			return err
		}
		of, err := collect(dump.Recv)
		if err != nil {
			return err
		}
		fmt.Printf("%d %s mtu %d", one.SwIfIndex, one.InterfaceName, one.Mtu[0])
		for _, address := range of {
			fmt.Printf(" %s", address.Prefix)
		}
		fmt.Println()
	}
	return nil
}

// collect reads a dump to its end.
func collect[T any](receive func() (T, error)) (all []T, err error) {
	for {
		one, err := receive()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
