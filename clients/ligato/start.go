package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vlib"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/core"
)

// run gives what a command answers.
func run(conn *core.Connection, command string) (string, error) {
	reply, err := vlib.NewServiceClient(conn).CliInband(context.Background(), &vlib.CliInband{Cmd: command})
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return reply.Reply, nil
}

// start asks what the agent asks before anything else.
func start(conn *core.Connection) error {
	ctx := context.Background()
	pong, err := memclnt.NewServiceClient(conn).ControlPing(ctx, &memclnt.ControlPing{})
	if err != nil {
		return err
	}
	version, err := vpe.NewServiceClient(conn).ShowVersion(ctx, &vpe.ShowVersion{})
	if err != nil {
		return err
	}
	now, err := vpe.NewServiceClient(conn).ShowVpeSystemTime(ctx, &vpe.ShowVpeSystemTime{})
	if err != nil {
		return err
	}
	if now.VpeSystemTime == 0 {
		return errors.New("show_vpe_system_time: no time")
	}
	fmt.Printf("%s %s, process %d, client %d\n", version.Program, version.Version, pong.VpePID, pong.ClientIndex)

	modules, err := memclnt.NewServiceClient(conn).APIVersions(ctx, &memclnt.APIVersions{})
	if err != nil {
		return err
	}
	for _, module := range modules.APIVersions {
		name := strings.TrimSuffix(module.Name, ".api")
		fmt.Printf("module %s %d.%d.%d\n", name, module.Major, module.Minor, module.Patch)
	}
	threads, err := vlib.NewServiceClient(conn).ShowThreads(ctx, &vlib.ShowThreads{})
	if err != nil {
		return err
	}
	for _, thread := range threads.ThreadData {
		fmt.Printf("thread %d %s %s\n", thread.ID, thread.Name, thread.Type)
	}

	if err := verbose(conn, pong.VpePID); err != nil {
		return err
	}
	if err := plugins(conn); err != nil {
		return err
	}
	want := interfaces.WantInterfaceEvents{PID: uint32(os.Getpid()), EnableDisable: 1}
	_, err = interfaces.NewServiceClient(conn).WantInterfaceEvents(ctx, &want)
	return err
}

// verbose reads the version and the command line, which the agent logs and reports.
func verbose(conn *core.Connection, pid uint32) error {
	said, err := run(conn, "show version verbose")
	if err != nil {
		return err
	}
	told := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
		title, value, _ := strings.Cut(line, ":")
		told[title] = strings.TrimSpace(value)
	}
	if told["Version"] == "" || told["Current PID"] != fmt.Sprint(pid) {
		return fmt.Errorf("show version verbose: %q", said)
	}
	said, err = run(conn, "show version cmdline")
	if err != nil {
		return err
	}
	title, words, _ := strings.Cut(said, "\n")
	if !strings.HasPrefix(title, "Command line arguments:") || len(strings.Fields(words)) == 0 {
		return fmt.Errorf("show version cmdline: %q", said)
	}
	fmt.Printf("started as %s\n", strings.Join(strings.Fields(words), " "))
	return nil
}

// plugins reads the plugins, by which the agent decides what to configure: the first line has the path, each other line that
// begins with a number and a dot a file, its version and what it is.
func plugins(conn *core.Connection) error {
	said, err := run(conn, "show plugins")
	if err != nil {
		return err
	}
	lines := strings.Split(said, "\n")
	path, found := strings.CutPrefix(strings.TrimSpace(lines[0]), "Plugin path is:")
	if !found || strings.TrimSpace(path) == "" {
		return fmt.Errorf("show plugins: no path in %q", lines[0])
	}
	for _, line := range lines[1:] {
		fields := strings.Fields(line)
		number := 0
		if len(fields) < 3 {
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "%d.", &number); err != nil || number <= 0 {
			continue
		}
		fmt.Printf("plugin %s %s\n", strings.TrimSuffix(fields[1], "_plugin.so"), fields[2])
	}
	return nil
}
