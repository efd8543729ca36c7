// ligato does to a daemon what Ligato's vpp-agent does when it starts: it checks that the daemon has all messages of VPP 23.06
// that the agent is built for, asks what it asks first, reads the commands that it reads by expressions, and dumps what it dumps
// to learn what is configured. It fails where the agent would.
//
//	go run . -socket /run/vpp/api.sock
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"

	"go.fd.io/govpp"
	"go.fd.io/govpp/api"
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
	for _, step := range []func(*core.Connection) error{check, start, scrape, resync, refuse} {
		if err := step(conn); err != nil {
			log.Fatal(err)
		}
	}
}

// check compares names and checksums. The agent cannot do without any of the core; of plugins it uses those that are there.
func check(conn *core.Connection) error {
	channel, err := conn.NewAPIChannel()
	if err != nil {
		return err
	}
	defer channel.Close()
	for _, set := range []struct {
		name     string
		messages []func() []api.Message
	}{{"core", coreMessages}, {"plugins", pluginMessages}} {
		var all []api.Message
		for _, messages := range set.messages {
			all = append(all, messages()...)
		}
		err := channel.CheckCompatiblity(all...)
		var missing *api.CompatibilityError
		if errors.As(err, &missing) {
			return fmt.Errorf("%s: %d messages are missing: %v", set.name, len(missing.IncompatibleMessages), missing)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s: all %d messages are there\n", set.name, len(all))
	}
	return nil
}
