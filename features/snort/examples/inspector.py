#!/usr/bin/env python3
"""An inspector for quiverd's inspection instances, by the protocol of VPP's Snort DAQ, version 3.

It needs Python 3.9 and nothing else:

    inspector.py --socket /run/quiver/snort.sock --instance ids --block 23 --blacklist 6667 --whitelist 443

Packets of UDP and TCP are judged by their destination port, all others pass. `--replace OLD=NEW` replaces bytes of the same number in
all packets that pass. With `--log FILE` each packet is a line of JSON. Integers in shared memory are read and written whole, and in
order, as x86-64 does it; other processors would need barriers, which Python does not have.
"""

import argparse
import json
import mmap
import os
import select
import socket
import struct
import sys

CONNECT, GET_BUFFER_POOL, GET_INPUT, ATTACH_QPAIR = 1, 2, 3, 4
REPLY = 40
COOKIE = 0xA196C3E82A4BC68F
PASS, BLOCK, REPLACE, WHITELIST, BLACKLIST, IGNORE = range(6)
NAMES = ["pass", "block", "replace", "whitelist", "blacklist", "ignore"]
ERRORS = {2: "no memory", 4: "invalid message", 5: "invalid index", 6: "unknown input", 7: "queue pair in use", 9: "invalid mode"}
# Header of a queue pair: offered packets, whether we were woken, cookie; judged packets, whether quiverd was woken.
ENQ_HEAD, ENQ_PENDING, ENQ_COOKIE, DEQ_HEAD, DEQ_PENDING, HEADER = 0, 8, 16, 64, 88, 128
DESCRIPTOR = 24


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)
        version = 3 << 24 | 21 << 8
        (count,) = struct.unpack_from("=H", self.ask(CONNECT, struct.pack("=IHxxI", version, 1, 2))[0])
        self.pools = [self.pool(number) for number in range(count)]

    def ask(self, kind, body, files=0):
        self.socket.send(struct.pack("=Bxxx32s", kind, body))
        reply, fds, _, _ = socket.recv_fds(self.socket, REPLY, max(files, 1))
        if len(reply) != REPLY or reply[0] != kind:
            raise SystemExit("quiverd has hung up")
        if reply[1]:
            raise SystemExit(f"quiverd refuses request {kind}: {ERRORS.get(reply[1], reply[1])}")
        return reply[8:], fds

    def pool(self, number):
        body, (fd,) = self.ask(GET_BUFFER_POOL, struct.pack("=B", number), 1)
        (size,) = struct.unpack_from("=Q", body, 8)
        return mapped(fd, size)

    def pairs(self, name):
        body, (fd,) = self.ask(GET_INPUT, name.encode(), 1)
        number, size, count = struct.unpack_from("=HxxxxxxQH", body)
        memory = mapped(fd, size)
        return [self.pair(memory, number, pair) for pair in range(count)]

    def pair(self, memory, number, pair):
        body, fds = self.ask(ATTACH_QPAIR, struct.pack("=HH", number, pair), 2)
        return Pair(self.pools, memory, fds, *struct.unpack_from("=HHHHBBxxIIII", body))


def mapped(fd, size):
    memory = mmap.mmap(fd, size)
    os.close(fd)
    return memory


class Pair:
    def __init__(self, pools, memory, fds, worker, queue, _input, _pair, log2, _empty, header, enq, deq, _empty_ring):
        self.pools, self.memory, (self.enq_fd, self.deq_fd) = pools, memory, fds
        self.worker, self.queue, self.mask = worker, queue, (1 << log2) - 1
        self.header, self.enq, self.deq, self.tail = header, enq, deq, 0
        if self.word(ENQ_COOKIE) != COOKIE:
            raise SystemExit("this is not a queue pair")

    def word(self, at):
        return struct.unpack_from("=Q", self.memory, self.header + at)[0]

    def receive(self):
        """Numbers of the packets that were offered since the last call."""
        head = self.word(ENQ_HEAD)
        while self.tail != head:
            yield struct.unpack_from("=H", self.memory, self.enq + (self.tail & self.mask) * 2)[0]
            self.tail += 1

    def packet(self, number):
        """The memory, place and length of a packet, and its metadata: flags, flow, interface."""
        offset, length, pool, flags, flow, interface = struct.unpack_from(
            "=IHBxIIi", self.memory, self.header + HEADER + number * DESCRIPTOR
        )
        return self.pools[pool], offset, length, (flags, flow, interface)

    def judge(self, number, verdict):
        struct.pack_into("=I", self.memory, self.header + HEADER + number * DESCRIPTOR + 8, verdict)
        head = self.word(DEQ_HEAD)
        struct.pack_into("=H", self.memory, self.deq + (head & self.mask) * 2, number)
        struct.pack_into("=Q", self.memory, self.header + DEQ_HEAD, head + 1)
        if not self.memory[self.header + DEQ_PENDING]:
            self.memory[self.header + DEQ_PENDING] = 1
            os.write(self.deq_fd, struct.pack("=Q", 1))

    def woken(self):
        try:
            os.read(self.enq_fd, 8)
        except BlockingIOError:
            pass
        # Behind the read: what is offered from now on is told by another interrupt.
        self.memory[self.header + ENQ_PENDING] = 0


def destination_port(packet):
    """Destination port of a whole UDP or TCP packet; None of all others."""
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        start, protocol, fragment = (packet[0] & 15) * 4, packet[9], struct.unpack_from("!H", packet, 6)[0] & 0x1FFF
    elif len(packet) >= 40 and packet[0] >> 4 == 6:
        start, protocol, fragment = 40, packet[6], 0
    else:
        return None
    if protocol not in (6, 17) or fragment or len(packet) < start + 4:
        return None
    return struct.unpack_from("!H", packet, start + 2)[0]


def main():
    parser = argparse.ArgumentParser(description="Inspects packets of a quiverd instance.")
    parser.add_argument("--socket", required=True, help="quiverd's snort.sock")
    parser.add_argument("--instance", required=True, help="name of the inspection instance")
    for name in ("block", "whitelist", "blacklist", "ignore", "hold"):
        parser.add_argument(f"--{name}", type=int, action="append", default=[], metavar="PORT", help=f"{name} packets to a port")
    parser.add_argument("--replace", metavar="OLD=NEW", help="replace bytes by others of the same number")
    parser.add_argument("--log", help="file for a line of JSON for each packet")
    options = parser.parse_args()
    old, new = (options.replace or "=").encode().split(b"=", 1)
    if len(old) != len(new):
        parser.error("--replace: both sides have the same number of bytes")
    log = open(options.log, "a", buffering=1) if options.log else None
    verdicts = [(options.block, BLOCK), (options.whitelist, WHITELIST), (options.blacklist, BLACKLIST), (options.ignore, IGNORE)]
    connection = Connection(options.socket)
    pairs = connection.pairs(options.instance)
    print(f"inspecting {options.instance} with {len(pairs)} queue pairs", flush=True)
    poll = select.poll()
    poll.register(connection.socket, select.POLLIN)
    by_fd = {pair.enq_fd: pair for pair in pairs}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    while True:
        for pair in pairs:
            for number in pair.receive():
                memory, offset, length, (flags, flow, interface) = pair.packet(number)
                packet = memory[offset : offset + length]
                port = destination_port(packet)
                verdict = next((verdict for ports, verdict in verdicts if port in ports), PASS)
                if verdict == PASS and old and old in packet:
                    memory[offset : offset + length] = packet.replace(old, new)
                    verdict = REPLACE
                if log:
                    line = {"worker": pair.worker, "interface": interface, "flags": flags, "length": length, "port": port}
                    print(json.dumps({**line, "verdict": NAMES[verdict]}), file=log)
                if port not in options.hold:
                    pair.judge(number, verdict)
        # An interrupt may be lost without barriers, so the rings are looked at now and then.
        for fd, _ in poll.poll(100):
            if fd == connection.socket.fileno():
                print("quiverd has hung up", file=sys.stderr)
                return 0
            by_fd[fd].woken()


if __name__ == "__main__":
    sys.exit(main())
