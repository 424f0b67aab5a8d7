#!/usr/bin/env python3
"""Compares `dedloc corpus build --images` with Pillow, in one run.

    pip install pillow
    tests/project_server/pictures/python_speed.py --dedloc build/release/bin/dedloc --images FOLDER

Every round measures each of them once, one after the other, so that other load of the machine meets
all of them: ours, which reads a file, removes its metadata, decodes it at 1/8, digests it and
writes it into a shard; and Pillow, which reads and decodes it in full, or at the scale that is next
to 1/8 (Image.draft), and writes nothing. Prints the median and the range of pictures/s of the wall
time and of the processor's, and the most memory of ours.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

from PIL import Image


def dedloc(arguments, folder):
    out = pathlib.Path(folder) / "corpus"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [arguments.dedloc, "corpus", "build", "--images", arguments.images]
    command += ["--out", str(out), "--json"]
    summary = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(out)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return summary["pictures"], seconds, after.ru_maxrss


def pillow(arguments, draft):
    begin = time.process_time()
    count = 0
    for place, _, names in os.walk(arguments.images):
        for name in names:
            try:
                with Image.open(os.path.join(place, name)) as picture:
                    if draft:
                        picture.draft("RGB", (1, 1))
                    picture.convert("RGB")
                    count += 1
            except OSError:
                pass
    return count, time.process_time() - begin, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dedloc", required=True, help="the program")
    parser.add_argument("--images", required=True, help="a folder of pictures")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    ways = {
        "dedloc corpus build": lambda: dedloc(arguments, folder),
        "Pillow, full size": lambda: pillow(arguments, False),
        "Pillow, draft": lambda: pillow(arguments, True),
    }
    rates = {name: ([], []) for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        memory = 0
        for _ in range(arguments.rounds):
            for name, way in ways.items():
                begin = time.monotonic()
                count, seconds, peak = way()
                rates[name][0].append(count / (time.monotonic() - begin))
                rates[name][1].append(count / seconds)
                memory = max(memory, peak)
    for name, (wall, processor) in rates.items():
        print(f"{name}: {statistics.median(wall):,.0f} pictures/s of wall time "
              f"({min(wall):,.0f} to {max(wall):,.0f}), {statistics.median(processor):,.0f} of the "
              f"processor's ({min(processor):,.0f} to {max(processor):,.0f})")
    print(f"most memory of dedloc: {memory / 1024:.1f} MB")


if __name__ == "__main__":
    main()
