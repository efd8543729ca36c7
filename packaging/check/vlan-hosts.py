"""Two hosts in VLANs 10 and 20 behind one interface: sends datagrams from one to the other by way of the router between them, and says
what became of each. `vlan-hosts.py INTERFACE`, in the hosts' network namespace. Status 0: those to port 4000 all came, with the bytes
that were sent and a time to live of one less, and none came to port 4001, which the router's access list denies.
"""

import socket
import struct
import sys
import time

AUXDATA, PACKET, TAG_IS_VALID = 8, 263, 1 << 4
COUNT = 20
HOSTS = {10: ("10.0.10.2", b"\x02\x00\x00\x00\x0a\x02"), 20: ("10.0.20.2", b"\x02\x00\x00\x00\x14\x02")}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(vlan, to, kind, body):
    return to + HOSTS[vlan][1] + struct.pack("!HHH", 0x8100, vlan, kind) + body


def arp(vlan, operation, to, address):
    ours, mac = HOSTS[vlan]
    head = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
    body = head + mac + socket.inet_aton(ours) + to + socket.inet_aton(address)
    return frame(vlan, to if operation == 2 else b"\xff" * 6, 0x0806, body)


def datagram(router, port, payload):
    udp = struct.pack("!HHHH", 3999, port, 8 + len(payload), 0) + payload
    source, destination = (socket.inet_aton(HOSTS[vlan][0]) for vlan in (10, 20))
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 7, 0, 64, 17, 0, source, destination)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return frame(10, router, 0x0800, head + udp)


def received(wire, until):
    """VLAN, type and body of each frame for our hosts; Linux takes the tag out of it and says which one it was."""
    while (left := until - time.monotonic()) > 0:
        wire.settimeout(left)
        try:
            data, extra, _, _ = wire.recvmsg(65536, 64)
        except TimeoutError:
            return
        for _, kind, value in extra:
            status, _, _, _, _, tag, _ = struct.unpack("IIIHHHH", value[:20])
            if kind == AUXDATA and status & TAG_IS_VALID:
                vlan, ethertype, body = tag & 0xFFF, data[12:14], data[14:]
                if vlan in HOSTS and data[:6] in (HOSTS[vlan][1], b"\xff" * 6):
                    yield vlan, ethertype, body, data[6:12]


def main(interface):
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.setsockopt(PACKET, AUXDATA, 1)
    wire.bind((interface, 0))
    wire.send(arp(10, 1, b"\0" * 6, "10.0.10.1"))
    router, came, denied, wrong = None, set(), 0, 0
    for vlan, kind, body, sender in received(wire, time.monotonic() + 2):
        if kind == b"\x08\x06" and body[7] == 2 and body[14:18] == socket.inet_aton("10.0.10.1"):
            router = sender
            for number in range(COUNT):
                for port in (4000, 4001):
                    wire.send(datagram(router, port, struct.pack("!I", number) * 16))
        elif kind == b"\x08\x06" and body[7] == 1 and body[24:28] == socket.inet_aton(HOSTS[vlan][0]):
            wire.send(arp(vlan, 2, body[8:14], socket.inet_ntoa(body[14:18])))
        elif kind == b"\x08\x00" and vlan == 20 and body[9] == 17:
            (port,), payload = struct.unpack("!H", body[22:24]), body[28:92]
            number = struct.unpack("!I", payload[:4])[0]
            is_whole = body[8] == 63 and checksum(body[:20]) == 0 and payload == struct.pack("!I", number) * 16
            denied += port == 4001
            wrong += not is_whole
            came.add(number) if port == 4000 and is_whole else None
            if len(came) == COUNT:
                break
    print(f"{len(came)} of {COUNT} came, {denied} that are denied, {wrong} changed")
    return 0 if (len(came), denied, wrong) == (COUNT, 0, 0) else 1


sys.exit(main(sys.argv[1]))
