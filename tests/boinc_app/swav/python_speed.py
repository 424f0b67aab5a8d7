#!/usr/bin/env python3
"""Compares swav_bench with a plain SwAV on PyTorch, in one run.

    pip install torch torchvision safetensors
    tests/boinc_app/swav/python_speed.py --program build/release/bin/swav_bench \\
        --network resnet18 --shard CORPUS/shard-...

Every round measures each of them once, one after the other, so that other load of the machine meets
both: forward and backward of one micro-batch with the same shapes and the same number of threads.
Ours also decodes the pictures of the shard and makes their crops; PyTorch gets crops that are made
before. Prints the median and the range of pictures/s of the wall time and of the processor's, and
our share of decoding and crops.
"""

import argparse
import re
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F
import torchvision

NETWORKS = {
    "resnet18": dict(
        bottlenecks=0, small_stem=1, hidden=512, prototypes=512,
        sizes=[28, 18], counts=[2, 4],
    ),
    "resnet50": dict(
        bottlenecks=1, small_stem=0, hidden=2048, prototypes=3000,
        sizes=[224, 96], counts=[2, 6],
    ),
}  # fmt: skip
PROJECTION = 128
TEMPERATURE = 0.1
EPSILON = 0.05


def sinkhorn(scores):
    q = torch.exp(scores / EPSILON).t()
    q = q / q.sum()
    for _ in range(3):
        q = q / q.sum(1, keepdim=True) / q.shape[0]
        q = q / q.sum(0, keepdim=True) / q.shape[1]
    return (q * q.shape[1]).t()


class PlainSwav:
    """Loss and gradients by autograd, with torchvision's ResNet and channels_last pictures."""

    def __init__(self, shape):
        self.shape = shape
        kind = torchvision.models.resnet50 if shape["bottlenecks"] else torchvision.models.resnet18
        self.trunk = kind(num_classes=1)
        if shape["small_stem"]:
            self.trunk.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            self.trunk.maxpool = torch.nn.Identity()
        features = self.trunk.fc.in_features
        self.trunk.fc = torch.nn.Identity()
        self.head = torch.nn.Sequential(
            torch.nn.Linear(features, shape["hidden"]),
            torch.nn.BatchNorm1d(shape["hidden"]),
            torch.nn.ReLU(inplace=True),
            torch.nn.Linear(shape["hidden"], PROJECTION),
        )
        self.trunk = self.trunk.to(memory_format=torch.channels_last)
        self.prototypes = torch.nn.Linear(PROJECTION, shape["prototypes"], bias=False)
        self.crops = [
            torch.randn(count * shape["pictures"], 3, size, size).contiguous(
                memory_format=torch.channels_last
            )
            for size, count in zip(shape["sizes"], shape["counts"])
        ]

    def step(self):
        m, assigned = self.shape["pictures"], self.shape["counts"][0]
        z = F.normalize(self.head(torch.cat([self.trunk(x) for x in self.crops])), dim=1)
        scores = self.prototypes(z)
        logs = F.log_softmax(scores / TEMPERATURE, 1).view(-1, m, scores.shape[1])
        loss = 0
        for i in range(assigned):
            with torch.no_grad():
                q = sinkhorn(scores[i * m : (i + 1) * m])
            loss = loss - sum((q * logs[v]).sum() for v in range(len(logs)) if v != i)
        loss.backward()
        return float(loss.detach())


def ours(arguments):
    command = [arguments.program, f"--{arguments.network}", "--repetitions", "2"]
    command += ["--micro-batch", str(arguments.pictures), "--threads", str(arguments.threads)]
    if arguments.shard:
        command += ["--shard", arguments.shard]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[1]
    numbers = re.search(r"threads: (\S+) pictures.* processor (\S+) pictures.* crops (\S+) %", line)
    return tuple(float(number) for number in numbers.groups())


def theirs(arguments):
    shape = dict(NETWORKS[arguments.network], pictures=arguments.pictures)
    model = PlainSwav(shape)
    model.step()  # libraries allocate once
    wall, processor = time.monotonic(), time.process_time()
    model.step()
    wall, processor = time.monotonic() - wall, time.process_time() - processor
    return arguments.pictures / wall, arguments.pictures / processor


def shown(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="swav_bench")
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--shard", help="shard of pictures; default: crops are made before")
    parser.add_argument("--pictures", type=int, default=32, help="of a micro-batch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = [(ours(arguments), theirs(arguments)) for _ in range(arguments.rounds)]
    print(
        f"{arguments.network}, micro-batches of {arguments.pictures}, {arguments.threads} threads"
    )
    for name, which in (("ours", 0), ("PyTorch " + torch.__version__, 1)):
        print(f"{name}: {shown([row[which][0] for row in rows])} pictures/s of wall time,",
              f"{shown([row[which][1] for row in rows])} of a processor's")  # fmt: skip
    print(f"decoding and crops: {shown([row[0][2] for row in rows])} % of our processor time")


if __name__ == "__main__":
    main()
