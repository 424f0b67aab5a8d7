"""What flood_lab starts and watches: processes that always end with it, and their /proc files."""

import ctypes
import dataclasses
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import subprocess
import time

ATTACKER_NICE = 10  # the machine's cores limit the attacker, not the honest processes
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None)


class LabError(Exception):
    """The lab cannot go on; the sentence says why."""


def until(seconds, what, condition):
    """Waits until the condition holds; LabError at the deadline."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"waited in vain for {what}")
        time.sleep(0.02)


def end_with_parent():
    """Runs in a new process, which is killed when this one dies, however it dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def enter_namespace(name):
    """Moves this process to a network namespace of `ip netns`."""
    with open(f"/run/netns/{name}") as namespace:
        if _LIBC.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            raise LabError(f"cannot enter the network namespace {name}")


def run(words, **options):
    """Runs a program to its end and returns its output; LabError if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, process_group=0, **options)
    if done.returncode != 0:
        raise LabError(f"{' '.join(map(str, words))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Child:
    """A program in the background that may print a JSON object a line. `stack` ends it."""

    def __init__(self, stack, words, log, nice=0, end_signal=signal.SIGKILL):
        self._end_signal = end_signal
        self.name = pathlib.Path(log).name
        self.events = []
        self._partial = b""
        self._output = open(f"{log}.out", "w+b", buffering=0)

        def prepare():
            end_with_parent()
            os.nice(nice)

        with open(f"{log}.log", "wb") as errors:
            # A group of its own: Ctrl-C reaches the lab only, which ends its children.
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self._output,
                                            stderr=errors, process_group=0, preexec_fn=prepare)
        self._reader = open(f"{log}.out", "rb", buffering=0)
        stack.callback(self.end)

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        self.process.send_signal(self._end_signal)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()
        self._reader.close()

    def read(self):
        """All events so far. LabError if the program has ended."""
        lines = (self._partial + self._reader.read()).split(b"\n")
        self._partial = lines.pop()
        self.events += [json.loads(line) for line in lines]
        if self.process.poll() is not None:
            raise LabError(f"{self.name} has ended with status {self.process.returncode}")
        return self.events

    def await_event(self, name, seconds=30):
        """The first event of this name."""
        def found():
            return [event for event in self.read() if event["event"] == name]
        until(seconds, f"{name} of {self.name}", found)
        return found()[0]


class Flood:
    """A process that runs attack(figures, *arguments), which counts in `figures`."""

    def __init__(self, stack, attack, *arguments):
        context = multiprocessing.get_context("fork")
        self._figures = context.Array("q", 2)

        def body():
            end_with_parent()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.nice(ATTACKER_NICE)
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            attack(self._figures, *arguments)

        self._process = context.Process(target=body, daemon=True)
        self._process.start()
        stack.callback(self.kill)

    @property
    def figures(self):
        return list(self._figures)

    def kill(self):
        self._process.kill()
        self._process.join()


@dataclasses.dataclass
class Usage:
    """What a process used since Watch()."""
    cpu_seconds: float
    peak_megabytes: float


class Watch:
    """Measures a process from now on."""

    def __init__(self, pid):
        self.pid = pid
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak begins anew
        self._before = self._ticks()

    def _ticks(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def usage(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return Usage(cpu_seconds=(self._ticks() - self._before) / os.sysconf("SC_CLK_TCK"),
                     peak_megabytes=int(peak.split()[1]) / 1024)
