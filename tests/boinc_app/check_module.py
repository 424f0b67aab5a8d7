#!/usr/bin/env python3
"""Checks a folder of `dedloc run export` of a run that trains a module, with PyTorch in Python.

    pip install torch numpy safetensors
    tests/boinc_app/check_module.py FOLDER RUN [--samples N] [--original MODULE.pt]

FOLDER is the export, RUN the run's folder in the project (run.json, held_out). module.pt is loaded,
the held-out samples are drawn with the run's seed as the project draws them, and the mean loss must
be that of the card (README.md). The module's parameters must be those of model.safetensors. With
--original, its code and buffers must be those of the module that the run began with.
"""

import argparse
import json
import pathlib
import re
import struct
import sys

import numpy
import safetensors.torch
import torch

WORD = (1 << 64) - 1


def require(condition, sentence):
    if not condition:
        sys.exit(f"check_module: {sentence}")


def philox(counter, key):
    """Philox4x32-10, as peer/base/random.cpp."""
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF,
                   (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter[0] | counter[1] << 32, counter[2] | counter[3] << 32


def halves(number):
    return [number & 0xFFFFFFFF, number >> 32]


class Random:
    def __init__(self, seed, stream=0):
        self.seed, self.stream = seed, stream

    def split(self, label):
        return Random(*philox(halves(label) + halves(self.stream), halves(~self.seed & WORD)))

    def below(self, bound):
        for block in range(1 << 20):
            for x in philox(halves(block) + halves(self.stream), halves(self.seed)):
                if x >= (1 << 64) % bound:
                    return x % bound
        raise AssertionError


def evaluation_random(seed):
    """The generator of training::evaluation_random(): step 0 of a key of all ones."""
    random = Random(seed)
    for _ in range(4):
        random = random.split(WORD)
    return random.split(0)


def read_tensors(data):
    magic, tensors, samples = struct.unpack_from("<IIQ", data)
    require(magic == 0x31544C44, "the shard holds no tensors")
    arrays, at = [], 16 + 72 * tensors
    for index in range(tensors):
        kind, dimensions, *extents = struct.unpack_from("<II8Q", data, 16 + 72 * index)
        dtype = {1: numpy.float32, 2: numpy.int64, 3: numpy.uint8}[kind]
        shape = [samples] + extents[:dimensions]
        at += -at % 64
        count = int(numpy.prod(shape))
        arrays.append(numpy.frombuffer(data, dtype, count, at).reshape(shape))
        at += arrays[-1].nbytes
    return arrays


def read_tokens(data):
    _, _, tokens, sentences, documents = struct.unpack_from("<IIQQQ", data)
    return numpy.frombuffer(data, numpy.uint16, tokens, 32 + 4 * (sentences + documents))


def draw(run, folder, count):
    """The first samples of an evaluation: the tensors of forward."""
    held_out = [shard for shard in run["shards"] if shard.get("held_out")]
    require(held_out, "the run file names no held-out shard")
    files = [(folder / "held_out" / shard["name"]).read_bytes() for shard in held_out]
    length = run.get("sequence_length", 0)
    if length:
        shards = [[read_tokens(data)] for data in files]
        counts = [max(0, len(shard[0]) - length + 1) for shard in shards]
    else:
        shards = [read_tensors(data) for data in files]
        counts = [len(shard[0]) for shard in shards]
    weights = [shard.get("weight", 1) for shard in held_out]
    masses = [weight * number for weight, number in zip(weights, counts)]
    rows = []
    step = evaluation_random(run["seed"])
    for sample in range(count):
        number = step.split(sample).below(sum(masses))
        at = 0
        while number >= masses[at]:
            number -= masses[at]
            at += 1
        index = number // weights[at]
        rows.append([shards[at][0][index:index + length].astype(numpy.int64)] if length
                    else [array[index] for array in shards[at]])
    return [torch.from_numpy(numpy.stack(column)) for column in zip(*rows)]


def check_original(module, original):
    require(module.code == original.code, "the module has other code than the run's")
    parameters = {name for name, _ in original.named_parameters()}
    state, first = module.state_dict(), original.state_dict()
    require(list(state) == list(first), "the module has other tensors than the run's")
    for name in first:
        require(name in parameters or torch.equal(state[name], first[name]),
                f"the buffer {name} differs")
    trained = sum(not torch.equal(state[name], first[name]) for name in parameters)
    print(f"code and buffers are those of the run's module; {trained} tensors are trained")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=1024)
    parser.add_argument("--original", type=pathlib.Path)
    arguments = parser.parse_args()
    run = json.loads((arguments.run / "run.json").read_text())
    module = torch.jit.load(str(arguments.folder / "module.pt")).eval()
    stored = safetensors.torch.load_file(arguments.folder / "model.safetensors")
    state = module.state_dict()
    for name, tensor in stored.items():
        require(torch.equal(tensor, state[name].reshape(tensor.shape)), f"{name} differs")
    print(f"{len(stored)} tensors, {sum(t.numel() for t in stored.values())} parameters")
    if arguments.original:
        check_original(module, torch.jit.load(str(arguments.original)))
    inputs = draw(run, arguments.run, arguments.samples)
    with torch.no_grad():
        losses = module(*inputs).double()
    card = (arguments.folder / "README.md").read_text()
    row = re.search(r"^\| loss \| ([0-9.]+) ", card, re.MULTILINE)
    require(row, "the card has no loss")
    measured = re.search(r"measured this state on (\d+) samples", card)
    require(int(measured[1]) == arguments.samples, f"the card has {measured[1]} samples")
    print(f"held-out loss of {arguments.samples} samples: {losses.mean():.6f} here, {row[1]} there")
    require(abs(losses.mean().item() - float(row[1])) < 1e-4, "the losses differ")


main()
