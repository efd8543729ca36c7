// watch stays connected to a daemon and prints what becomes of the connection: GoVPP asks again and again whether the daemon
// still answers, and connects again when it was away. It ends when its standard input does.
//
//	go run ./watch -socket /run/vpp/api.sock
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"go.fd.io/govpp"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/core"
)

func main() {
	socket := flag.String("socket", "/run/vpp/api.sock", "path of the daemon's API socket")
	attempts := flag.Int("attempts", 100, "how often to try to connect before giving up")
	flag.DurationVar(&core.HealthCheckProbeInterval, "probe", core.HealthCheckProbeInterval, "how often the daemon is asked")
	flag.DurationVar(&core.HealthCheckReplyTimeout, "patience", core.HealthCheckReplyTimeout, "how long it may take to answer")
	flag.Parse()

	conn, events, err := govpp.AsyncConnect(*socket, *attempts, core.DefaultReconnectInterval)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Disconnect()
	done := make(chan struct{})
	go func() {
		// The end is all that is waited for.
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	for {
		select {
		case event := <-events:
			switch event.State {
			case core.Connected:
				pong, err := memclnt.NewServiceClient(conn).ControlPing(context.Background(), &memclnt.ControlPing{})
				if err != nil {
					fmt.Println("connected, but:", err)
					continue
				}
				fmt.Println("connected to process", pong.VpePID)
			case core.Failed:
				log.Fatal(event.State, ": ", event.Error)
			default:
				fmt.Println(event.State)
			}
		case <-done:
			fmt.Println("end")
			return
		}
	}
}
