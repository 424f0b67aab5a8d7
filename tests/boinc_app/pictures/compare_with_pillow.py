#!/usr/bin/env python3
"""Compares crops of real pictures with Pillow's, operation by operation, and the time of both.

    pip install pillow numpy
    tests/boinc_app/pictures/compare_with_pillow.py build/release/bin/crops_bench FOLDER...

Takes 50 pictures, as many from each folder as it has: JPEGs, also in .tar.gz archives. Pillow
decodes them. crops_bench draws parameters and makes crops; Pillow repeats them. Prints for each
size and operation the mean and largest difference of a channel, of 255, and the number of crops
that a processor makes in a second (processor time, normalised to floats, without decoding). The
exit status is 1 if a mean difference is 0.5 or more, or the largest 3 or more.
"""

import argparse
import collections
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "fixtures"))
import pillow_crops

PICTURES = 50
MEAN = numpy.array([0.485, 0.456, 0.406], numpy.float32).reshape(3, 1, 1)
DEVIATION = numpy.array([0.229, 0.224, 0.225], numpy.float32).reshape(3, 1, 1)


def pictures_in(folder):
    """The JPEGs of a folder: an equal number from each archive, in turn."""
    for path in sorted(folder.glob("*.jpg")):
        yield path.read_bytes()
    archives = [tarfile.open(path) for path in sorted(folder.glob("*.tar.gz"))]
    while archives:
        for archive in list(archives):
            member = archive.next()
            if member is None:
                archives.remove(archive)
            elif member.isfile():
                yield archive.extractfile(member).read()


def decode(data, draft):
    """A picture, by DCT scaling about as small as its shorter side may be."""
    image = Image.open(io.BytesIO(data))
    if draft:
        shorter = min(image.size)
        image.draft("RGB", tuple(-(-side * draft // shorter) for side in image.size))
    return image.convert("RGB")


def decode_pictures(folders, target, draft=0):
    """Writes PPM files into the target. Returns the pictures by name."""
    pictures = {}
    for folder in folders:
        for data in pictures_in(pathlib.Path(folder)):
            if len(pictures) == PICTURES:
                break
            image = decode(data, draft)
            name = f"p{len(pictures):02}"
            image.save(target / f"{name}.ppm")
            pictures[name] = image
    return pictures


def seconds_of(lines, pictures, min_seconds):
    """Processor seconds of a crop by Pillow, normalised, on average."""
    crops = 0
    begin = time.process_time()
    while crops == 0 or time.process_time() < begin + min_seconds:
        for words in lines:
            crop = pillow_crops.planes(pillow_crops.make(words, pictures[words[1]]))
            floats = numpy.ascontiguousarray(crop).astype(numpy.float32)
            floats /= numpy.float32(255)
            floats -= MEAN
            floats /= DEVIATION
            crops += 1
    return (time.process_time() - begin) / crops


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", help="crops_bench")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--seconds", default="0.3", help="of measuring each operation")
    parser.add_argument(
        "--draft", type=int, default=0, help="decode with DCT scaling to this shorter side or more"
    )
    arguments = parser.parse_args()
    seconds = float(arguments.seconds)
    with tempfile.TemporaryDirectory() as name:
        target = pathlib.Path(name)
        pictures = decode_pictures(arguments.folders, target, arguments.draft)
        subprocess.run([arguments.program, name, arguments.seconds], check=True)
        pixels = numpy.fromfile(target / "pixels.bin", numpy.uint8)
        groups = collections.defaultdict(list)
        differences = collections.defaultdict(list)
        at = 0
        for line in (target / "cases.txt").read_text().splitlines():
            words = line.split()
            size = int(words[2])
            ours = pixels[at : at + 3 * size * size].reshape(3, size, size).astype(int)
            at += 3 * size * size
            theirs = pillow_crops.planes(pillow_crops.make(words, pictures[words[1]]))
            groups[size, words[0]].append(words)
            differences[size, words[0]].append(numpy.abs(ours - theirs))
        assert at == len(pixels), "pixels.bin has the crops of cases.txt"
        times = {}
        for line in (target / "times.txt").read_text().splitlines():
            size, operation, time_of_crop = line.split()
            times[int(size), operation] = float(time_of_crop)

    print(f"{len(pictures)} pictures\n")
    print("| size | operation | crops | mean | max | crops/s | Pillow |")
    print("|---|---|---|---|---|---|---|")
    passed = True
    for (size, operation), found in sorted(differences.items(), key=lambda item: -item[0][0]):
        mean = numpy.mean([one.mean() for one in found])
        most = max(one.max() for one in found)
        passed = passed and mean < 0.5 and most < 3
        rate = 1 / times[size, operation]
        pillow = 1 / seconds_of(groups[size, operation], pictures, seconds)
        words = [size, operation, len(found), f"{mean:.4f}", most, f"{rate:,.0f}", f"{pillow:,.0f}"]
        print(f"| {' | '.join(map(str, words))} |", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
