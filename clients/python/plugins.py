#!/usr/bin/env python3
"""Uses messages that plugins bring to a running quiverd, those of examples/plugins, as VPP's users do with vpp_papi.

    plugins.py API_FOLDER API_SOCKET    marks packets, refuses others, lists both, and hears of what happens

API_FOLDER has the definitions that `quiverd --plugin ... --write-api API_FOLDER` writes. quiverd runs with plugins.yaml.
"""

import os
import sys

from control import Client

PACKET = (
    "packet-generator new { name low limit 1 size 100 ttl 9 interface a data "
    "{ IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:0a UDP: 10.0.0.2 -> 10.0.1.2 UDP: 1 -> 2 } }"
)


def run(client, line):
    said = client.cli_inband(cmd=line)
    assert said.retval == 0, f"{line}: {said.reply}"


def events(client, kind, count):
    """The first events of a kind, when so many have come."""
    found = lambda heard: [event for name, event in heard if name == kind]
    client.wait(f"{count} of {kind}", lambda heard: len(found(heard)) >= count)
    return found(client.heard)


def mark(client, a):
    """The plugin in Rust: a request, a dump, and events of what changes."""
    client.want_dscp_mark_events(enable=True, pid=os.getpid())
    assert client.dscp_mark_dump() == []
    client.dscp_mark_add_del(is_add=True, dscp=46, to="10.0.1.0/24", interface="a")
    client.dscp_mark_add_del(is_add=True, dscp=10, to="10.0.0.0/8", interface="a")
    rules = [(rule.sw_if_index, str(rule.to), rule.dscp) for rule in client.dscp_mark_dump()]
    assert rules == [(a, "10.0.1.0/24", 46), (a, "10.0.0.0/8", 10)], rules
    print(f"{len(rules)} rules mark packets")
    client.dscp_mark_add_del(is_add=False, dscp=0, to="10.0.1.0/24", interface="a")
    heard = [(event.is_add, str(event.to), event.pid) for event in events(client, "dscp_mark_event", 3)]
    expected = [(True, "10.0.1.0/24"), (True, "10.0.0.0/8"), (False, "10.0.1.0/24")]
    assert heard == [(*event, os.getpid()) for event in expected], heard
    refused = client.dscp_mark_add_del(is_add=True, dscp=64, to="10.0.1.0/24", interface="a")
    assert refused.retval < 0, refused
    # Who has had enough hears no more: the later rule goes untold.
    client.want_dscp_mark_events(enable=False, pid=os.getpid())
    client.dscp_mark_add_del(is_add=False, dscp=0, to="10.0.0.0/8", interface="a")
    client.control_ping()
    assert len(events(client, "dscp_mark_event", 3)) == 3


def guard(client, a):
    """The plugin in C: a request, a dump, and events that its node raises on a worker."""
    client.want_ttl_guard_events(enable=True, pid=os.getpid())
    assert client.ttl_guard_get(sw_if_index=a).least == 64
    assert [(guard.sw_if_index, guard.least) for guard in client.ttl_guard_dump()] == [(a, 64)]
    run(client, PACKET)
    run(client, "packet-generator enable-stream low")
    [event, *_] = events(client, "ttl_guard_event", 1)
    assert (event.sw_if_index, event.ttl, event.pid) == (a, 9, os.getpid()), event
    print("a packet with a TTL of 9 was refused")


if __name__ == "__main__":
    client = Client(*sys.argv[1:], "plugins")
    interfaces = client.sw_interface_dump(name_filter_valid=False, name_filter="")
    [a] = [interface.sw_if_index for interface in interfaces if interface.interface_name == "a"]
    mark(client, a)
    guard(client, a)
    client.vpp.disconnect()
