"""Floods of a project's web server: sign-ins and registrations, which hash passwords, and slow
uploads. Clients have loopback addresses of their own, which nginx passes on as it does any."""

import asyncio
import concurrent.futures
import contextlib
import hashlib
import http.client
import itertools
import pathlib
import signal
import socket
import statistics
import threading
import time
import urllib.parse

from flood_processes import Child, Flood, LabError, Watch, run, until

FLOODS = ["no flood", "sign-ins", "registrations", "upload slots"]
SIGN_INS, REGISTRATIONS, UPLOADS = 20, 10, 10  # of honest clients, spread over the time
UPLOAD_BYTES = 1_000_000
RETRY_SECONDS = 1.0  # an honest client's refused upload is tried again after so long
TRIES_PER_SECOND = 300
ANSWER_SECONDS = 15  # a client waits so long for an answer
UPLOADS_OF_ADDRESS = 8
UPLOAD_SLOTS = 128
SLOW_BYTES = 1_100  # that a slow upload sends each second; 1,024 keep its slot

COLUMNS = ["flood", "release", "sign-ins", "s: median, worst", "registrations",
           "s: median, worst", "uploads of 1 MB", "s: median, worst", "server CPU s", "peak MB",
           "attackers"]


def password_hash(email):
    return hashlib.md5(f"secret{email}".encode()).hexdigest()


def account_path(page, email):
    words = {"email_addr": email, "passwd_hash": password_hash(email), "user_name": "Ada"}
    return f"/{page}.php?{urllib.parse.urlencode(words)}"


def upload_head(name, size):
    return (f"<data_server_request>\n<file_upload>\n<file_info>\n<name>{name}</name>\n<max_nbytes>"
            f"{size}</max_nbytes>\n</file_info>\n<nbytes>{size}</nbytes>\n<offset>0</offset>\n"
            "<data>\n").encode()


def ask(port, source, path, body=None):
    """The answer to a request from this address; nothing if there is none or it is an error."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS,
                                      source_address=(source, 0))
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(link):
        link.request("GET" if body is None else "POST", path, body)
        answer = link.getresponse()
        text = answer.read().decode()
        return text if answer.status == 200 else ""
    return ""


class Project:
    """A project of one release, which runs until `stack` stops it."""

    def __init__(self, stack, programs, folder):
        dedloc = f"{programs}/dedloc"
        self.folder = pathlib.Path(folder) / "project"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        run([dedloc, "project", "create", self.folder, "--name", "Flood", "--listen",
             f"127.0.0.1:{self.port}"])
        config = self.folder / "config.xml"
        # Slots are taken before a certificate is read, so uploads here do without.
        config.write_text(config.read_text().replace("<ignore_upload_certificates>0",
                                                     "<ignore_upload_certificates>1"))
        Child(stack, [dedloc, "project", "start", "--foreground", self.folder],
              f"{folder}/supervisor", end_signal=signal.SIGTERM)
        until(60, "the project's web server", lambda: ask(self.port, "127.0.0.1", "/"))
        self.names = itertools.count(1)
        self.accounts = [f"ada{i}@example.org" for i in range(SIGN_INS)]
        for i, email in enumerate([*self.accounts, "eve@example.org"]):
            if "<auth" not in ask(self.port, f"127.200.{i}.1", account_path("create_account",
                                                                            email)):
                raise LabError(f"the project makes no account for {email}")

    def server_pid(self):
        return int((self.folder / "pids/dedloc-server.pid").read_text())


# --- attackers -------------------------------------------------------------------------


async def try_account(figures, port, source, path):
    """figures: tries, and those of them that were served."""
    figures[0] += 1
    with contextlib.suppress(OSError, asyncio.TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port,
                                                           local_addr=(source, 0))
            with contextlib.closing(writer):
                writer.write(f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
                answer = await reader.read()
                figures[1] += b"<authenticator>" in answer


def flood_accounts(figures, port, networks, path_of):
    """Tries from 100 addresses of each network in turn, at a fixed rate."""
    sources = itertools.cycle([f"127.{n}.{i}.1" for i in range(100) for n in networks])

    async def flood():
        tasks = set()
        start = time.monotonic()
        for number in itertools.count():
            await asyncio.sleep(start + number / TRIES_PER_SECOND - time.monotonic())
            task = asyncio.create_task(
                try_account(figures, port, next(sources), path_of(number)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    asyncio.run(flood())


async def hold_slot(figures, port, source, name):
    """Uploads slowly, and anew when refused. figures: tries, and slots held now."""
    head = upload_head(name, 10_000_000)
    while True:
        figures[0] += 1
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port,
                                                           local_addr=(source, 0))
            with contextlib.closing(writer):
                writer.write(b"POST /file_upload_handler HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                             b"Content-Length: %d\r\n\r\n" % (len(head) + 10_000_000) + head)
                is_held = False
                try:
                    for second in itertools.count():
                        writer.write(bytes(SLOW_BYTES))
                        with contextlib.suppress(asyncio.TimeoutError):
                            await asyncio.wait_for(reader.read(1), 1)
                            break  # an answer: refused
                        if second == 2:  # a busy server refuses late
                            is_held = True
                            figures[1] += 1
                finally:
                    figures[1] -= is_held
        await asyncio.sleep(RETRY_SECONDS)


def flood_uploads(figures, port, networks):
    """All uploads that 4 addresses of each network may have."""
    async def flood():
        await asyncio.gather(*[hold_slot(figures, port, f"127.{n}.{i}.1", f"slow_{n}_{i}_{k}")
                               for k in range(UPLOADS_OF_ADDRESS) for i in range(4)
                               for n in networks])

    asyncio.run(flood())


def begin(stack, name, project):
    """Starts the flood; None if none is wanted."""
    number = next(project.names)
    if name == "sign-ins":
        own = account_path("lookup_account", "eve@example.org")  # right, so it is never throttled
        return Flood(stack, flood_accounts, project.port, range(1, 5), lambda i: own)
    if name == "registrations":
        return Flood(stack, flood_accounts, project.port, range(11, 15), lambda i: account_path(
            "create_account", f"eve{number}_{i}@example.org"))
    if name == "upload slots":
        flood = Flood(stack, flood_uploads, project.port, range(21, 37))
        until(30, "the attackers' slots", lambda: flood.figures[1] >= UPLOAD_SLOTS * 3 // 4)
        return flood
    return None


# --- honest clients --------------------------------------------------------------------


def timed(over, port, at, source, path):
    """Seconds of a request that is sent at this time; None if it is not served."""
    if over.wait(max(0.0, at - time.monotonic())):
        return None
    start = time.monotonic()
    return time.monotonic() - start if "<auth" in ask(port, source, path) else None


def timed_upload(over, port, at, source, name, end):
    """Seconds from this time until an upload has succeeded; None if none has at the end."""
    body = upload_head(name, UPLOAD_BYTES) + bytes(UPLOAD_BYTES)
    wait = max(0.0, at - time.monotonic())
    while not over.wait(wait) and time.monotonic() < end:
        if "<status>0<" in ask(port, source, "/file_upload_handler", body):
            return time.monotonic() - at
        wait = RETRY_SECONDS
    return None


@contextlib.contextmanager
def honest_clients(count):
    """Threads, and an event that ends their waits when the lab is stopped."""
    over = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        try:
            yield threads, over
        finally:
            over.set()


def cells_of(requests):
    """How many were served, and how long these took: median and worst."""
    times = [request.result() for request in requests]
    served = [time for time in times if time is not None]
    text = f"{statistics.median(served):.2f}, {max(served):.2f}" if served else ""
    return [f"{len(served)} of {len(times)}", text]


def measure(name, project, seconds):
    """The cells of a row after the names of flood and release."""
    with contextlib.ExitStack() as stack:
        port, names = project.port, project.names
        watch = Watch(project.server_pid())
        flood = begin(stack, name, project)
        start = time.monotonic()
        threads, over = stack.enter_context(honest_clients(SIGN_INS + REGISTRATIONS + UPLOADS))

        def spread(count, act, words_of):
            return [threads.submit(act, over, port, start + (i + 0.5) * seconds / count,
                                   *words_of(i)) for i in range(count)]

        sign_ins = spread(SIGN_INS, timed, lambda i: (
            f"127.{100 + i}.1.1", account_path("lookup_account", project.accounts[i])))
        registrations = spread(REGISTRATIONS, timed, lambda i: (
            f"127.{130 + i}.1.1", account_path("create_account",
                                               f"bob{next(names)}@example.org")))
        uploads = spread(UPLOADS, timed_upload, lambda i: (
            f"127.{150 + i}.1.1", f"file_{next(names)}", start + seconds))
        over.wait(seconds)
        tries, hits = flood.figures if flood else (0, 0)
        usage = watch.usage()
        cells = [*cells_of(sign_ins), *cells_of(registrations), *cells_of(uploads)]
    attack = f"{tries / seconds:.0f} tries/s, {hits / seconds:.0f} served" if flood else ""
    if name == "upload slots":
        attack = f"hold {hits} of {UPLOAD_SLOTS} slots"
    return [*cells, f"{usage.cpu_seconds:.1f}", f"{usage.peak_megabytes:.0f}", attack]
