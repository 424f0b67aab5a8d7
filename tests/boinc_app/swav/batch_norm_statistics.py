#!/usr/bin/env python3
"""Measures one trained state with different statistics of its batch norms.

    pip install torch torchvision safetensors pillow
    tests/boinc_app/swav/batch_norm_statistics.py --model FOLDER --run run.json \
        --known IMAGES --tested IMAGES

FOLDER is an export of the run (`dedloc run export`); its statistics are the project's, computed
over a list of pictures. The others are running statistics with momentum 0.1, as a volunteer of
DeDLOC had them after its last micro-batches: of one peer whose pictures are of all classes, and of
three peers that have a third of the classes each; also the mean of these three. The weights stay
as they are meanwhile, as at the end of a cosine schedule. Prints for each the accuracy of nearest
neighbours and of softmax regression, and the loss on crops of tested pictures.
"""

import argparse
import copy
import json
import math
import pathlib
import random
import sys

import safetensors.torch
import torch
import torch.nn.functional as F
from PIL import Image
from torchvision.transforms import v2

MOMENTUM = 0.1
NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)


class Network(torch.nn.Module):
    """Trunk, head and prototypes of an export."""

    def __init__(self, trunk, folder):
        super().__init__()
        tensors = safetensors.torch.load_file(folder / "head.safetensors")
        hidden, features = tensors["projection_head.0.weight"].shape
        prototypes, projection = tensors["prototypes.weight"].shape
        self.trunk = trunk
        self.projection_head = torch.nn.Sequential(
            torch.nn.Linear(features, hidden),
            torch.nn.BatchNorm1d(hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, projection),
        )
        self.prototypes = torch.nn.Linear(projection, prototypes, bias=False)
        self.load_state_dict(
            tensors | {f"trunk.{name}": value for name, value in trunk.state_dict().items()}
        )

    def forward(self, sizes):
        features = torch.cat([self.trunk(crops) for crops in sizes])
        z = F.normalize(self.projection_head(features), dim=1)
        return z @ F.normalize(self.prototypes.weight, dim=1).t()


def crop_makers(model):
    """For each size of crops the transform of a picture, and the number of crops."""
    colours = model["colours"]
    jitter = v2.ColorJitter(*(colours[x] for x in ("brightness", "contrast", "saturation", "hue")))
    return [
        (
            v2.Compose(
                [
                    v2.RandomResizedCrop(crop["size"], (crop["min_area"], crop["max_area"])),
                    v2.RandomHorizontalFlip(),
                    v2.RandomApply([jitter], colours["jitter"]),
                    v2.RandomGrayscale(colours["gray"]),
                    v2.ToImage(),
                    v2.ToDtype(torch.float32, scale=True),
                    v2.Normalize(colours["mean"], colours["deviation"]),
                ]
            ),
            crop["count"],
        )
        for crop in model["crops"]
    ]


def crops_of(paths, makers):
    """For each size a tensor [count · pictures, 3, size, size]."""
    pictures = [Image.open(path).convert("RGB") for path in paths]
    return [
        torch.stack([make(picture) for _ in range(count) for picture in pictures])
        for make, count in makers
    ]


def swav_loss(scores, pictures, model):
    """The mean loss of a micro-batch; the first size's crops have assignments."""
    assigned = model["crops"][0]["count"]
    logs = F.log_softmax(scores / model["temperature"], 1).view(-1, pictures, scores.shape[1])
    loss = 0
    for i in range(assigned):
        q = torch.exp(scores[i * pictures : (i + 1) * pictures] / model["epsilon"]).t()
        q = q / q.sum()
        for _ in range(model["iterations"]):
            q = q / q.sum(1, keepdim=True) / q.shape[0]
            q = q / q.sum(0, keepdim=True) / q.shape[1]
        q = (q * pictures).t()
        others = [v for v in range(len(logs)) if v != i]
        loss -= sum((q * logs[v]).sum() for v in others) / len(others) / assigned / pictures
    return float(loss)


@torch.no_grad()
def with_running_statistics(network, paths, batches, model, seed):
    """A copy with the running statistics after so many micro-batches of these pictures."""
    local = copy.deepcopy(network).train()
    for module in local.modules():
        if isinstance(module, NORMS):
            module.reset_running_stats()
            module.momentum = MOMENTUM
    draw, makers = random.Random(seed), crop_makers(model)
    torch.manual_seed(seed)
    for _ in range(batches):
        local(crops_of(draw.choices(paths, k=model["micro_batch"]), makers))
    return local.eval()


def mean_of(networks):
    """A network with the mean of the networks' running statistics, as some average them."""
    mean = copy.deepcopy(networks[0])
    each = [list(network.buffers()) for network in networks]
    for buffer, *values in zip(mean.buffers(), *each):
        buffer.copy_(torch.stack(values).float().mean(0))
    return mean


def linear_accuracy(known, known_labels, tested, tested_labels, classes):
    """Softmax regression with the settings of boinc_app/swav/probes.hpp."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(known.shape[1], classes)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    settings = dict(lr=0.3, momentum=0.9, weight_decay=1e-6)
    optimizer = torch.optim.SGD(layer.parameters(), **settings)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    for _ in range(100):
        for rows in torch.randperm(len(known)).split(256):
            optimizer.zero_grad()
            F.cross_entropy(layer(known[rows]), known_labels[rows]).backward()
            optimizer.step()
        schedule.step()
    return float((layer(tested).argmax(1) == tested_labels).double().mean())


class Measurement:
    """The pictures that measure each network."""

    def __init__(self, knn, config, run, arguments):
        self.knn, self.config, self.model = knn, config, run["model"]
        draw = random.Random(arguments.seed)

        def chosen(folder, each):
            classes = knn.classes_of(folder)
            return {name: draw.sample(p, min(each, len(p))) for name, p in classes.items()}

        self.known = chosen(arguments.known, arguments.known_pictures)
        self.tested = chosen(arguments.tested, arguments.tested_pictures)
        self.names = list(self.known)
        torch.manual_seed(arguments.seed)
        paths = [path for name in self.tested for path in self.tested[name]]
        size, makers = self.model["micro_batch"], crop_makers(self.model)
        draw.shuffle(paths)
        batches = [paths[i : i + size] for i in range(0, len(paths) - size + 1, size)]
        self.crops = [crops_of(batch, makers) for batch in batches]

    @torch.no_grad()
    def losses(self, network):
        return [swav_loss(network(crops), self.model["micro_batch"], self.model)
                for crops in self.crops]  # fmt: skip

    def show_loss(self, network):
        losses = torch.tensor(self.losses(network))
        return f"{losses.mean():.3f} ± {losses.std() / len(losses) ** 0.5:.3f}"

    def show(self, name, network):
        def features(classes):
            pictures = self.knn.Pictures(classes, self.names, self.config)
            values, labels = self.knn.features_of(pictures, network.trunk, "cpu")
            return values.clone(), labels.clone()  # those of inference mode train nothing

        known, tested = features(self.known), features(self.tested)
        classes = len(self.names)
        shares = [
            self.knn.knn_accuracy(*known, *tested, classes, 200, 0.1),
            linear_accuracy(*known, *tested, classes),
        ]
        cells = [
            f"{100 * share:.1f} % ± {100 * (share * (1 - share) / len(tested[1])) ** 0.5:.1f}"
            for share in shares
        ]
        print(f"| {name} | {' | '.join(cells)} | {self.show_loss(network)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="folder of the export")
    parser.add_argument("--run", type=pathlib.Path, required=True, help="run file")
    parser.add_argument("--known", required=True, help="folder of pictures to learn from")
    parser.add_argument("--tested", required=True, help="folder of pictures to classify")
    parser.add_argument("--known-pictures", type=int, default=500, help="of a class")
    parser.add_argument("--tested-pictures", type=int, default=200, help="of a class")
    parser.add_argument("--batches", type=int, default=60, help="micro-batches of a peer")
    parser.add_argument("--only", default="", help="measure what has this in its name")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    sys.path.insert(0, str(arguments.model.resolve()))
    import evaluate_knn as knn

    run = json.loads(arguments.run.read_text())
    trunk, config = knn.load_trunk(arguments.model)
    network = Network(trunk, arguments.model).eval()
    measurement = Measurement(knn, config, run, arguments)
    classes = knn.classes_of(arguments.known)
    names = list(classes)

    def local(number, wanted):
        paths = [path for name in wanted for path in classes[name]]
        seed = 100 * arguments.seed + number
        return with_running_statistics(network, paths, arguments.batches, run["model"], seed)

    prototypes = len(network.prototypes.weight)
    print(f"state of step {config['step']}, ln K = {math.log(prototypes):.3f}")
    print("| statistics | kNN | linear | loss |\n|---|---|---|---|")
    def unlike():
        thirds = [names[i * len(names) // 3 : (i + 1) * len(names) // 3] for i in range(3)]
        return {f"local, only {', '.join(x)}": (lambda x=x: local(names.index(x[0]) + 10, x))
                for x in thirds}  # fmt: skip

    rows = {"of the export": lambda: network, "local, all classes": lambda: local(0, names)}
    rows |= unlike()
    rows["mean of these three"] = lambda: mean_of([make() for make in unlike().values()])
    for name, make in rows.items():
        if arguments.only in name:
            measurement.show(name, make())
    print(f"loss with each micro-batch's own statistics: {measurement.show_loss(network.train())}")


if __name__ == "__main__":
    main()
