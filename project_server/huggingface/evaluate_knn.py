#!/usr/bin/env python3
"""The kNN accuracy of the features of this model, on pictures of your own.

    pip install torch torchvision safetensors pillow
    ./evaluate_knn.py --known FOLDER --tested FOLDER

Each folder has a sub-folder for each class. The class of a tested picture is the weighted vote of
its nearest known pictures (Wu et al., arXiv 1805.01978): cosine similarity of features, weight
exp(similarity / temperature). The project measures the same on its held-out pictures.
"""

import argparse
import json
import pathlib

import safetensors.torch
import torch
import torchvision
from PIL import Image, ImageOps
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.transforms.v2 import functional

HERE = pathlib.Path(__file__).resolve().parent


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


@torch.inference_mode()
def features_of(folder, trunk, config, device):
    data = torchvision.datasets.DatasetFolder(
        folder, lambda path: picture(path, config), torchvision.datasets.folder.IMG_EXTENSIONS
    )
    features, labels = [], []
    for pictures, classes in torch.utils.data.DataLoader(data, batch_size=64):
        features.append(trunk(pictures.to(device)).cpu())
        labels.append(classes)
    return torch.cat(features), torch.cat(labels), data.classes


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
    known, known_labels, names = features_of(arguments.known, trunk, config, arguments.device)
    tested, tested_labels, other = features_of(arguments.tested, trunk, config, arguments.device)
    if names != other:
        parser.error("the folders have other classes")
    vote = {"neighbours": arguments.neighbours, "temperature": arguments.temperature}
    share = knn_accuracy(known, known_labels, tested, tested_labels, len(names), **vote)
    error = (share * (1 - share) / len(tested)) ** 0.5
    print(
        f"kNN accuracy {100 * share:.2f} % ± {100 * error:.2f} %: {len(tested)} pictures of "
        f"{len(names)} classes, {len(known)} known"
    )


if __name__ == "__main__":
    main()
