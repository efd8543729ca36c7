package main

import (
	"fmt"
	"regexp"
	"strings"

	"go.fd.io/govpp/core"
)

// What the agent's telemetry reads by expressions: these accept what its do.
var (
	number = `[0-9.e-]+`
	bytes  = `[0-9kmgKMG.]+`
	small  = `[0-9kmg.]+`

	memory = regexp.MustCompile(
		`Thread\s+(\d+)\s+(\w+).?\s+` +
			`base 0x[0-9a-f]+, size ` + small + `, (?:[a-z-]+, )*name '[-\w\s]*'\s+` +
			`page stats: page-size ` + bytes + `, total ` + small + `, mapped ` + small + `, not-mapped ` + small + `\s+` +
			`total: (` + bytes + `), used: (` + bytes + `), free: ` + bytes + `, trimmable: ` + bytes + `\s+` +
			`free chunks \d+\s+free fastbin blks \d+\s+max total allocated\s+` + bytes)

	counter = regexp.MustCompile(`^\s+(\d+)\s+([\w/-]+)\s+(.+)$`)

	row     = `([\w:.-]+)\s+(\w+(?:[ -]\w+)*)\s+(\d+)\s+(\d+)\s+(\d+)\s+(` + number + `)\s+(` + number + `)\s+`
	rows    = regexp.MustCompile(row)
	runtime = regexp.MustCompile(
		`(?:-+\n)?(?:Thread (\d+) (\w+)(?: \(lcore \d+\))?\n)?` +
			`Time ` + number + `, average vectors/node ` + number + `, last \d+ main loops ` + number + ` per node ` + number +
			`\s+vector rates in ` + number + `, out ` + number + `, drop ` + number + `, punt ` + number + `\n` +
			`\s+Name\s+State\s+Calls\s+Vectors\s+Suspends\s+Clocks\s+Vectors/Call\s+((?:` + row + `)+)`)

	pool = regexp.MustCompile(`^(\w+(?:[ -]\w+)*)` + strings.Repeat(`\s+(\d+)`, 4) + strings.Repeat(`\s+(`+small+`)`, 4) + `\s*$`)
)

// scrape reads what the agent publishes as metrics where the statistics segment does not have it.
func scrape(conn *core.Connection) error {
	said, err := run(conn, "show memory main-heap verbose")
	if err != nil {
		return err
	}
	found := memory.FindStringSubmatch(said)
	if found == nil {
		return fmt.Errorf("show memory main-heap verbose: %q", said)
	}
	fmt.Printf("memory of thread %s %s: %s, used %s\n", found[1], found[2], found[3], found[4])

	said, err = run(conn, "show runtime")
	if err != nil {
		return err
	}
	threads := runtime.FindAllStringSubmatch(said, -1)
	if len(threads) == 0 {
		return fmt.Errorf("show runtime: %q", said)
	}
	for _, thread := range threads {
		for _, node := range rows.FindAllStringSubmatch(thread[3], -1) {
			fmt.Printf("runtime of thread %s %s: %s %s: %s calls, %s vectors\n", thread[1], thread[2], node[1], node[2], node[3], node[4])
		}
	}

	if err := lines(conn, "show node counters", 3, "Count", counter, func(found []string) {
		fmt.Printf("counter %s %s: %s\n", found[2], found[3], found[1])
	}); err != nil {
		return err
	}
	return lines(conn, "show buffers", 11, "Pool", pool, func(found []string) {
		fmt.Printf("buffers %s: %s bytes each, %s in all, %s used\n", found[1], found[4], found[6], found[9])
	})
}

// lines reads an answer that has so many words in its first line, and matches an expression in all others.
func lines(conn *core.Connection, command string, words int, first string, line *regexp.Regexp, each func([]string)) error {
	said, err := run(conn, command)
	if err != nil {
		return err
	}
	for at, text := range strings.Split(said, "\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if at == 0 {
			if title := strings.Fields(text); len(title) != words || title[0] != first {
				return fmt.Errorf("%s: its title is %q", command, text)
			}
			continue
		}
		found := line.FindStringSubmatch(text)
		if found == nil {
			return fmt.Errorf("%s: the line %q", command, text)
		}
		each(found)
	}
	return nil
}
