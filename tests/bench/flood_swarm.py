"""Floods of peers: a DHT seed, a backbone, five honest trainers, and an attacker that joins them
or only connects. Newcomers join during the flood."""

import contextlib
import itertools
import os
import select
import shutil
import socket
import struct
import time

from flood_processes import (ATTACKER_NICE, Child, Flood, LabError, Watch, enter_namespace, run,
                             until)

# What a member does, and its intensity (tests/hostile/README.md). Chunks are large.
MEMBER_FLOODS = {"no flood": 1, "hello-storm": 100, "false-votes": 100, "heartbeat-storm": 100,
                 "early-flood": 10, "repeated-queries": 100, "dial-storm": 1}
# Handshakes of outsiders, and the number of wide networks (16 bits) that they come from.
OUTSIDER_FLOODS = {"no flood": 0, "handshakes of 4 networks": 4, "handshakes of 250 networks": 250}
HONEST = ["ann", "bob", "cleo", "dan", "eve"]
NEWCOMERS = ["nina", "olga", "pia", "quinn", "ruth"]
JOIN_SECONDS = 15  # after the measured time, newcomers have so long to be in a round
FAR_MS = 50        # one way
NEAR_HOST, FAR_HOST = "10.99.0.10", "10.99.0.11"
HELD = 8_000           # connections of outsiders
HANDSHAKE_RATE = 2_600  # new ones a second
# First message of a link (peer/net/session/README.md): magic, versions, encryption, a random key.
HELLO = struct.pack("<IHHI", 0x534C4444, 4, 4, 1) + os.urandom(32)

COLUMNS = ["flood", "release", "honest samples/s", "of no flood", "steps/min", "joins s",
           "coordinator CPU s", "peak MB", "sent MB", "received MB", "new connections/s"]


class Swarm:
    """The honest processes of one release; the attacker's program is given."""

    def __init__(self, stack, programs, attacker, folder, host="127.0.0.1", vector_bytes=1_000_000):
        self.stack, self.program, self.attacker = stack, f"{programs}/dedloc-peer", attacker
        self.folder, self.host, self.vector_bytes = folder, host, vector_bytes
        self.wrap = []  # words before each command of a member that is near
        self.users = itertools.count(1)

    def start(self):
        run([self.program, "create", f"{self.folder}/run.json", "--key",
             f"{self.folder}/backbone.key", "--bytes", str(self.vector_bytes), "--steps",
             "1000000", "--target-batch", "300"])
        seed = Child(self.stack, [*self.wrap, self.program, "seed", f"{self.host}:0"],
                     f"{self.folder}/seed")
        self.seed = seed.await_event("seed")["address"]
        self.backbone = self.join("backbone", "--backbone")
        self.port = self.backbone.await_event("start")["port"]
        self.honest = [self.join(name, "--samples-per-second", "100") for name in HONEST]
        until(60, "a round of each trainer", lambda: all(map(first_round, self.honest)))

    def join(self, name, *words, program=None, wrap=None, host=None, nice=0):
        files = f"{self.folder}/{name}"
        user = str(next(self.users))
        run([self.program, "ticket", f"{self.folder}/run.json", "--project-key",
             f"{self.folder}/backbone.key", "--key", f"{files}.key", "--ticket", f"{files}.ticket",
             "--user", user, "--host", user, "--result", user])
        return Child(self.stack, [*(self.wrap if wrap is None else wrap), program or self.program,
                                  "join", f"{self.folder}/run.json", "--seed", self.seed, "--key",
                                  f"{files}.key", "--ticket", f"{files}.ticket", "--listen",
                                  f"{host or self.host}:0", *words], files, nice)


def first_round(member):
    """When a member was in a round for the first time; None if it was in none."""
    return next((event["at"] for event in member.read() if "frozen_at" in event), None)


def measure(swarm, seconds, begin, newcomer):
    """Calls begin(), measures so long, and starts newcomers by newcomer(name) meanwhile. Returns
    the samples of the honest trainers that count, in a second, and the cells of a row from steps
    on."""
    watch = Watch(swarm.backbone.pid)
    start = time.clock_gettime(time.CLOCK_BOOTTIME)
    flood = begin()
    started, joined = [], {}

    def look():
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        due = len(started) < len(NEWCOMERS) and now >= start + len(started) * seconds / len(
            NEWCOMERS)
        if due:
            started.append((now, newcomer(NEWCOMERS[len(started)])))
        for began, member in started:
            at = first_round(member)
            if at is not None:
                joined[member.name] = at - began
        for member in [swarm.backbone, *swarm.honest]:
            member.read()
        return now >= start + seconds

    until(seconds + 60, "the end of the measurement", look)
    usage = watch.usage()
    tries = flood.figures[0] if isinstance(flood, Flood) else 0
    with contextlib.suppress(LabError):
        until(JOIN_SECONDS, "newcomers", lambda: look() and len(joined) == len(NEWCOMERS))
    end = start + seconds

    def steps(member):
        return [event for event in member.events
                if event["event"] == "step" and start <= event["at"] < end]

    samples = sum(event.get("own_samples", 0) for member in swarm.honest
                  for event in steps(member))
    own = steps(swarm.backbone)
    waits = ", ".join(f"{wait:.1f}" for wait in sorted(joined.values()))
    missing = len(NEWCOMERS) - len(joined)
    return samples / seconds, [
        f"{len(own) * 60 / seconds:.0f}", waits + (f"; {missing} not" if missing else ""),
        f"{usage.cpu_seconds:.1f}", f"{usage.peak_megabytes:.0f}",
        f"{sum(event['sent_bytes'] for event in own) / 1e6:.0f}",
        f"{sum(event['received_bytes'] for event in own) / 1e6:.0f}",
        f"{tries / seconds:.0f}" if tries else ""]


def member_flood(name, programs, attacker, folder, seconds):
    """One more member joins, which is honest if no flood is wanted."""
    with contextlib.ExitStack() as stack:
        swarm = Swarm(stack, programs, attacker, folder)
        swarm.start()
        words = ["--samples-per-second", "5"]

        def begin():
            if name == "no flood":
                member = swarm.join("mallory", *words)
            else:
                member = swarm.join("mallory", *words, "--misbehave", name, "--intensity",
                                    str(MEMBER_FLOODS[name]), program=swarm.attacker,
                                    nice=ATTACKER_NICE)
            member.await_event("start")
            return member

        return measure(swarm, seconds, begin, lambda name: swarm.join(
            name, "--samples-per-second", "5"))


def hold_handshakes(figures, namespace, host, port, networks):
    """Keeps unfinished handshakes open, from 250 addresses of each network in turn."""
    enter_namespace(namespace)
    sources = itertools.cycle([f"127.{1 + n}.{i}.1" for i in range(250) for n in range(networks)])
    poll = select.epoll()
    held = {}
    start = time.monotonic()

    def connect():
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        link.bind((next(sources), 0))
        link.connect_ex((host, port))
        held[link.fileno()] = link
        poll.register(link, select.EPOLLOUT)
        figures[0] += 1

    while True:
        allowed = (time.monotonic() - start) * HANDSHAKE_RATE
        if figures[0] < allowed - HANDSHAKE_RATE:  # what could not be opened is not made up for
            start += (allowed - figures[0]) / HANDSHAKE_RATE
        while len(held) < HELD and figures[0] < allowed:
            connect()
        for number, what in poll.poll(0.005):
            link = held[number]
            with contextlib.suppress(OSError):
                if what == select.EPOLLOUT:
                    link.send(HELLO)
                    poll.modify(link, select.EPOLLIN)
                    continue
                if link.recv(1_024):
                    continue
            link.close()
            del held[number]


@contextlib.contextmanager
def long_path(attacker_folder, folder):
    """Two network namespaces whose packets to each other take FAR_MS; yields their names."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise LabError("needs root and ip")
    if not os.path.exists(f"{attacker_folder}/long_path"):
        raise LabError("needs long_path among the last programs")
    near, far = f"dlf{os.getpid()}-near", f"dlf{os.getpid()}-far"
    with contextlib.ExitStack() as stack:
        for name, host in ((near, NEAR_HOST), (far, FAR_HOST)):
            run(["ip", "netns", "add", name])
            stack.callback(run, ["ip", "netns", "del", name])
        hosts = [near, NEAR_HOST, "0", far, FAR_HOST, "0"]
        path = Child(stack, [f"{attacker_folder}/long_path", str(FAR_MS), "0", *hosts],
                     f"{folder}/path")
        until(10, "the long path", lambda: os.path.getsize(f"{folder}/path.out") > 0)
        for name, host in ((near, NEAR_HOST), (far, FAR_HOST)):
            run(["ip", "-n", name, "link", "set", "lo", "up"])
            run(["ip", "-n", name, "addr", "add", f"{host}/24", "dev", "eth0"])
            run(["ip", "-n", name, "link", "set", "eth0", "up"])
        yield near, far


def outsider_flood(name, programs, attacker, folder, seconds):
    """The newcomers are far from the others; connections without a ticket flood the backbone."""
    networks = OUTSIDER_FLOODS[name]
    with contextlib.ExitStack() as stack:
        near, far = stack.enter_context(long_path(os.path.dirname(attacker), folder))
        # So small that a newcomer's slow start does not make rounds longer.
        swarm = Swarm(stack, programs, attacker, folder, NEAR_HOST, vector_bytes=20_000)
        swarm.wrap = ["ip", "netns", "exec", near]
        swarm.start()

        def begin():
            if networks > 0:
                return Flood(stack, hold_handshakes, near, NEAR_HOST, swarm.port, networks)
            return None

        return measure(swarm, seconds, begin, lambda name: swarm.join(
            name, "--samples-per-second", "5", wrap=["ip", "netns", "exec", far], host=FAR_HOST))
