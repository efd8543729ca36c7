#!/usr/bin/env python3
"""Reads a running quiverd's statistics: as VPP's clients do, from shared memory, and as Prometheus does.

    statistics.py STATS_SOCKET              prints what interfaces, nodes and drops have counted
    statistics.py --check STATS_SOCKET COMMAND_SOCKET METRICS_URL
                                            makes traffic and interfaces, and checks that everybody counts the same
"""

import json
import socket
import sys
import time
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families
from vpp_papi.vpp_stats import VPPStats

PACKETS = 1000
SIZE = 64
STREAM = """packet-generator new { name s interface pg0 limit %d rate 1e6 size %d
 data { IP4: 02:00:00:00:00:01 -> 02:00:00:00:00:02 UDP: 10.0.0.1 -> 10.0.1.1 UDP: 1 -> 2 } }""" % (PACKETS, SIZE)


def show(stats):
    """Prints the sums of all threads."""
    for index, name in enumerate(stats["/if/names"]):
        rx, tx = stats["/if/rx"][:, index], stats["/if/tx"][:, index]
        drops = stats["/if/drops"][:, index].sum()
        print(f"{name}: {rx.sum_packets()} packets received, {tx.sum_packets()} sent, {drops} dropped")
    for name, packets in sorted(stats.set_errors().items()):
        print(f"{name}: {packets}")
    for node, calls in zip(stats["/sys/node/names"], zip(*stats["/sys/node/calls"])):
        if sum(calls):
            print(f"{node}: {sum(calls)} calls")


class Commands:
    """The command socket: a line of JSON each way."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r")

    def __call__(self, line):
        request = {"command": {"line": " ".join(line.split()), "json": True}}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.lines.readline())
        assert "done" in answer, f"{line}: {answer}"
        return answer["done"].get("json")


def families(url):
    """The metrics, as the parser of OpenMetrics understands them."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return list(text_string_to_metric_families(answer.read().decode()))


def scrape(url):
    """What Prometheus would store: name and labels to value."""
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families(url) for s in f.samples}


def check(stats, command, url):
    for name in ["pg0", "pg1"]:
        command(f"create packet-generator interface {name}")
        command(f"set interface state {name} up")
    command("set interface l2 xconnect pg0 pg1")
    command(STREAM)
    command("packet-generator enable s")
    deadline = time.monotonic() + 60
    while command("show packet-generator")[0]["received"] < PACKETS:
        assert time.monotonic() < deadline, "the packets do not arrive"
        time.sleep(0.01)

    index = stats["/if/names"].index("pg1")
    sent = stats["/if/tx"][:, index]
    assert (sent.sum_packets(), sent.sum_octets()) == (PACKETS, PACKETS * SIZE), sent
    assert stats["/interfaces/pg1/tx"] == sent, "a symlink is a column"
    assert stats["/interfaces/pg0/rx"].sum_packets() == PACKETS
    shown = {interface["name"]: interface for interface in command("show interface")}
    assert shown["pg1"]["tx-packets"] == PACKETS, shown

    # Each metric says what it is.
    for family in families(url):
        assert family.documentation.endswith("."), family
        assert family.type in ("counter", "gauge"), family
    units = {family.name: family.unit for family in families(url)}
    assert units["quiver_interface_tx_bytes"] == "bytes", units
    states = {name: value for (name, labels), value in scrape(url).items() if ("interface", "pg1") in labels}
    assert (states["quiver_interface_admin_up"], states["quiver_interface_link_up"]) == (1, 1), states

    # Everybody reads the same.
    metrics = scrape(url)
    tx = {dict(labels)["worker"]: value for (name, labels), value in metrics.items()
          if name == "quiver_interface_tx_packets_total" and ("interface", "pg1") in labels}
    workers = len(tx)
    assert sum(tx.values()) == PACKETS, tx
    received = [value for (name, labels), value in metrics.items()
                if name == "quiver_rx_queue_packets_total" and {("interface", "pg0"), ("queue", "0")} <= set(labels)]
    assert (len(received), sum(received)) == (workers, PACKETS), received
    assert all(value == 0 for (name, _), value in metrics.items() if name == "quiver_drops_total")

    # A drop is found by node and reason.
    assert stats.set_errors() == {}
    command("set interface l3 pg0")
    command("packet-generator disable s")
    command("packet-generator enable s")
    while sum(stats.set_errors().values()) < PACKETS:
        assert time.monotonic() < deadline, stats.set_errors()
        time.sleep(0.01)
    (name, packets), = stats.set_errors().items()
    _, _, node, reason = name.split("/")
    labels = {("node", node), ("reason", reason)}
    dropped = [value for (name, of), value in scrape(url).items() if name == "quiver_drops_total" and labels <= set(of)]
    assert (packets, sum(dropped)) == (PACKETS, PACKETS), (name, packets, dropped)

    # Interfaces come and go while a client reads: names and counters stay in step.
    before = stats.epoch
    for turn in range(10):
        command(f"create packet-generator interface pg{turn + 2}")
        names = stats["/if/names"]
        assert names[-1] == f"pg{turn + 2}" and len(names) == len(stats["/if/rx"][0]), names
        assert stats[f"/interfaces/{names[-1]}/rx"].sum_packets() == 0
    for turn in range(10):
        command(f"delete packet-generator interface pg{turn + 2}")
        assert not stats.ls([f"/interfaces/pg{turn + 2}/"])
        assert stats["/if/names"][turn + 3] == "deleted"
        assert stats["/if/tx"][:, index].sum_packets() == PACKETS
    assert stats.epoch >= before + 20
    beats = stats["/sys/heartbeat"]
    while stats["/sys/heartbeat"] == beats:
        assert time.monotonic() < deadline, "the heart has stopped"
        time.sleep(0.01)
    print(f"{len(stats.ls(['/']))} entries, {len(metrics)} samples, {workers} workers: all as it should be")


def main(arguments):
    if arguments[:1] == ["--check"]:
        _, path, commands, url = arguments
        stats = VPPStats(path)
        stats.connect()
        check(stats, Commands(commands), url)
    else:
        path, = arguments
        stats = VPPStats(path)
        stats.connect()
        show(stats)


if __name__ == "__main__":
    main(sys.argv[1:])
