#!/usr/bin/env python3
"""The kNN accuracy of the features of this model, on pictures of your own.

    pip install torch torchvision safetensors pillow
    ./evaluate_knn.py --known FOLDER --tested FOLDER

Each folder has a sub-folder for each class, by whose name the classes of both folders are matched.
A sub-folder may be empty, and those of tested pictures may be some of the known ones. The class of
a tested picture is the weighted vote of its nearest known pictures (Wu et al., arXiv 1805.01978):
cosine similarity of features, weight exp(similarity / temperature). The project measures the same
on its held-out pictures.
"""

import argparse
import json
import os
import pathlib
import sys

import safetensors.torch
import torch
from PIL import Image, ImageOps
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.transforms.v2 import functional

HERE = pathlib.Path(__file__).resolve().parent
EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp")


class Trunk(torch.nn.Module):
    """torchvision's ResNet without its last layer, of any width and depth."""

    def __init__(self, blocks, width, block, small_stem):
        super().__init__()
        kind = {"basic": BasicBlock, "bottleneck": Bottleneck}[block]
        kernel, stride = (3, 1) if small_stem else (7, 2)
        self.conv1 = torch.nn.Conv2d(3, width, kernel, stride, kernel // 2, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(width)
        self.maxpool = torch.nn.Identity() if small_stem else torch.nn.MaxPool2d(3, 2, 1)
        self.stages = len(blocks)
        channels = width
        for stage, count in enumerate(blocks):
            layers = []
            for index in range(count):
                planes = width << stage
                stride = 2 if stage > 0 and index == 0 else 1
                out = planes * kind.expansion
                shortcut = None
                if stride != 1 or channels != out:
                    shortcut = torch.nn.Sequential(
                        torch.nn.Conv2d(channels, out, 1, stride, bias=False),
                        torch.nn.BatchNorm2d(out),
                    )
                layers.append(kind(channels, planes, stride, shortcut))
                channels = out
            setattr(self, f"layer{stage + 1}", torch.nn.Sequential(*layers))

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return x.mean((2, 3))


def load_trunk(folder):
    """The trunk with its parameters and batch norms' statistics, and config.json."""
    config = json.loads((folder / "config.json").read_text())
    trunk = Trunk(**config["trunk"])
    trunk.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
    return trunk.eval(), config


def picture(path, config):
    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image).convert("RGB")
    size = config["input"]["size"]
    image = functional.resize(image, config["input"]["shorter_side"], antialias=True)
    image = functional.center_crop(image, [size, size])
    values = functional.to_dtype(functional.to_image(image), torch.float32, scale=True)
    return functional.normalize(values, config["input"]["mean"], config["input"]["deviation"])


def classes_of(folder):
    """The pictures of each sub-folder that has any, by its name."""
    try:
        names = sorted(
            entry.name
            for entry in os.scandir(folder)
            if entry.is_dir() and not entry.name.startswith(".")
        )
    except OSError as error:
        sys.exit(f"evaluate_knn: cannot list {folder}: {error.strerror}")
    classes = {}
    for name in names:
        paths = [
            os.path.join(place, file)
            for place, _, files in os.walk(os.path.join(folder, name), followlinks=True)
            for file in files
            if file.lower().endswith(EXTENSIONS)
        ]
        if paths:
            classes[name] = sorted(paths)
    if not classes:
        sys.exit(f"evaluate_knn: no sub-folder of {folder} has pictures")
    return classes


class Pictures(torch.utils.data.Dataset):
    """Pictures with the numbers of their classes in `names`."""

    def __init__(self, classes, names, config):
        self.places = [(path, names.index(name)) for name in classes for path in classes[name]]
        self.config = config

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        path, label = self.places[index]
        try:
            return picture(path, self.config), label
        except OSError as error:
            sys.exit(f"evaluate_knn: {path} is no picture that can be read: {error}")


@torch.inference_mode()
def features_of(pictures, trunk, device):
    features, labels = [], []
    for batch, classes in torch.utils.data.DataLoader(pictures, batch_size=64):
        features.append(trunk(batch.to(device)).cpu())
        labels.append(classes)
    return torch.cat(features), torch.cat(labels)


def knn_accuracy(known, known_labels, tested, tested_labels, classes, neighbours, temperature):
    neighbours = min(neighbours, max(1, len(known) // classes))
    known = torch.nn.functional.normalize(known)
    hits = 0
    for rows, labels in zip(tested.split(256), tested_labels.split(256)):
        similarity, index = (torch.nn.functional.normalize(rows) @ known.T).topk(neighbours)
        votes = torch.zeros(len(rows), classes, dtype=torch.float64)
        votes.scatter_add_(1, known_labels[index], (similarity.double() / temperature).exp())
        hits += int((votes.argmax(1) == labels).sum())
    return hits / len(tested)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--known", required=True, help="folder of pictures that vote")
    parser.add_argument("--tested", required=True, help="folder of pictures to classify")
    parser.add_argument("--neighbours", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.1)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    trunk, config = load_trunk(HERE)
    trunk.to(arguments.device)
    known_classes = classes_of(arguments.known)
    tested_classes = classes_of(arguments.tested)
    names = list(known_classes)
    unknown = [name for name in tested_classes if name not in known_classes]
    if unknown:
        sys.exit(f"evaluate_knn: {arguments.known} has no pictures of class {unknown[0]}")
    pictures = Pictures(known_classes, names, config)
    known, known_labels = features_of(pictures, trunk, arguments.device)
    pictures = Pictures(tested_classes, names, config)
    tested, tested_labels = features_of(pictures, trunk, arguments.device)
    vote = {"neighbours": arguments.neighbours, "temperature": arguments.temperature}
    share = knn_accuracy(known, known_labels, tested, tested_labels, len(names), **vote)
    error = (share * (1 - share) / len(tested)) ** 0.5
    print(
        f"kNN accuracy {100 * share:.2f} % ± {100 * error:.2f} %: {len(tested)} pictures of "
        f"{len(tested_classes)} classes, {len(known)} known of {len(names)}"
    )


if __name__ == "__main__":
    main()
