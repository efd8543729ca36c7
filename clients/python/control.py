#!/usr/bin/env python3
"""Configures a running quiverd through its binary API, as VPP's users do with vpp_papi.

    control.py API_FOLDER API_SOCKET            a loopback comes, has an address, is set up, and goes again
    control.py --check API_FOLDER API_SOCKET    the same, with many routes and many events, and checks what comes of it

API_FOLDER has the definitions that `quiverd --write-api API_FOLDER` writes.
"""

import os
import sys
import threading
import time

from vpp_papi import VPPApiClient

ROUTES = 100_000
AT_ONCE = 5_000
FLAPS = 5_000
ANY_INTERFACE = 2**32 - 1
ADMIN_UP = 1


class Client:
    """A connection, and the messages that came unasked, or all where it asks without waiting."""

    def __init__(self, folder, socket, name, do_async=False):
        self.vpp = VPPApiClient(apidir=folder, server_address=socket, use_socket=True, read_timeout=60)
        self.changed = threading.Condition()
        self.heard = []
        self.vpp.connect(name, do_async=do_async)
        self.vpp.register_event_callback(self.hear)

    def hear(self, kind, message):
        with self.changed:
            self.heard.append((kind, message))
            self.changed.notify()

    def pause(self):
        """Reads nothing more, until what this gives is set."""
        read, may_read = self.vpp.transport._read, threading.Event()

        def read_later():
            may_read.wait()
            return read()

        self.vpp.transport._read = read_later
        return may_read

    def wait(self, what, holds, seconds=120):
        """Waits until something holds of what was heard."""
        with self.changed:
            assert self.changed.wait_for(lambda: holds(self.heard), seconds), f"{what}: not within {seconds} s"

    def __getattr__(self, name):
        return getattr(self.vpp.api, name)


def example(client):
    version = client.show_version()
    print(f"connected to {version.program} {version.version}")
    client.want_interface_events(enable_disable=1, pid=os.getpid())
    index = client.create_loopback().sw_if_index
    client.sw_interface_add_del_address(sw_if_index=index, is_add=True, prefix="192.0.2.1/24")
    client.sw_interface_set_flags(sw_if_index=index, flags=ADMIN_UP)
    is_up = lambda heard: any(event.sw_if_index == index and event.flags & ADMIN_UP for _, event in heard)
    client.wait("the interface is up", is_up)
    for interface in client.sw_interface_dump(sw_if_index=ANY_INTERFACE, name_filter_valid=False, name_filter=""):
        addresses = client.ip_address_dump(sw_if_index=interface.sw_if_index, is_ipv6=False)
        print(interface.sw_if_index, interface.interface_name, *(str(address.prefix) for address in addresses))
    refused = client.sw_interface_set_flags(sw_if_index=10**9, flags=0)
    assert refused.retval == -2, refused
    client.delete_loopback(sw_if_index=index)
    client.wait("the interface goes", lambda heard: any(event.deleted for _, event in heard))
    print(f"interface {index} is deleted")


def check_routes(client, folder, socket):
    """Some routes are asked for all at once, with answers in their order; all are dumped."""
    adding = Client(folder, socket, "adding", do_async=True)
    path = {"type": 2, "sw_if_index": ANY_INTERFACE, "n_labels": 0, "label_stack": [{}] * 16, "weight": 1}
    asked = []
    for number in range(AT_ONCE):
        route = {"prefix": f"10.0.{number >> 8}.{number & 255}/32", "n_paths": 1, "paths": [path]}
        asked.append(adding.ip_route_add_del(is_add=True, is_multipath=False, route=route))
    adding.wait("answers to all", lambda heard: len(heard) >= AT_ONCE)
    answers = [(kind, answer.context, answer.retval) for kind, answer in adding.heard]
    assert answers == [("ip_route_add_del_reply", context, 0) for context in asked], answers[:3]
    said = client.cli_inband(cmd=f"ip route add count {ROUTES - AT_ONCE} 10.1.0.0/32 via drop")
    assert said.retval == 0, said

    began = time.monotonic()
    routes = client.ip_route_dump(table={"table_id": 0, "is_ip6": False})
    found = {str(route.route.prefix) for route in routes}
    assert len(found) == len(routes) >= ROUTES, (len(found), len(routes))
    last = ROUTES - AT_ONCE - 1
    for number in [0, AT_ONCE - 1]:
        assert f"10.0.{number >> 8}.{number & 255}/32" in found, number
    assert f"10.{1 + (last >> 16)}.{last >> 8 & 255}.{last & 255}/32" in found
    print(f"{len(routes)} routes in {time.monotonic() - began:.1f} s")


def check_storm(client, folder, socket):
    """An interface goes up and down, faster than one client reads of it; nobody else waits, and nothing is kept from it."""
    began = time.monotonic()
    slow, storming = Client(folder, socket, "slow"), Client(folder, socket, "storming", do_async=True)
    index = client.create_loopback().sw_if_index
    slow.want_interface_events(enable_disable=1, pid=os.getpid())
    may_read = slow.pause()
    for flap in range(FLAPS):
        storming.sw_interface_set_flags(sw_if_index=index, flags=ADMIN_UP if flap % 2 == 0 else 0)
    # The slow one has not read its first event when all is over for the others.
    storming.wait("answers to all", lambda heard: len(heard) == FLAPS)
    assert all(answer.retval == 0 for _, answer in storming.heard)
    for _ in range(100):
        assert client.control_ping().retval == 0
    assert len(slow.heard) == 0, slow.heard[:3]
    may_read.set()
    slow.wait("all events", lambda heard: len(heard) >= FLAPS)
    flags = [event.flags & ADMIN_UP for _, event in slow.heard if event.sw_if_index == index]
    assert flags == [ADMIN_UP, 0] * (FLAPS // 2), flags[:10]
    assert slow.control_ping().retval == 0
    client.delete_loopback(sw_if_index=index)
    print(f"{FLAPS} events in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    *options, folder, socket = sys.argv[1:]
    client = Client(folder, socket, "control")
    example(client)
    if options == ["--check"]:
        check_storm(client, folder, socket)
        check_routes(client, folder, socket)
    client.vpp.disconnect()
