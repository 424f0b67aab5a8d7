#!/usr/bin/env python3
"""Computes optimizer_figures.txt, with which optimizer_figures_test.cpp compares ModelState.

    python3 -m venv VENV
    VENV/bin/pip install numpy==2.4.6 torch==2.11.0 torch_optimizer==0.1.0
    VENV/bin/python optimizer_figures.py > optimizer_figures.txt

Everything is computed in binary64 from the same binary32 inputs. The sources of the figures:
    lamb         torch_optimizer.Lamb 0.1.0 with debias, as DeDLOC ran it
    lamb_nvidia  the formula of apex' FusedLAMB, which needs a GPU, written out below
    sgd          torch.optim.SGD
    sgd_larc     torch.optim.SGD on gradients scaled by the formula of apex' LARC (clip=False)
    prototypes   the same, where the first tensor is treated as facebook's SwAV treats its
                 prototypes: no gradient in the first steps, rows normalised before each step
"""

import numpy
import torch
import torch_optimizer

STEPS = 20
LEARNING_RATE = 0.01
DECAY = 0.1
# Elements, whether the tensor decays, and its elements before the first step.
TENSORS = [(12, True, "normal"), (4, False, 0.0), (5, False, 1.0)]
# The rows of the first tensor if it holds prototypes, and the steps in which they are frozen.
PROTOTYPES = 4
FROZEN_STEPS = 6


def starts(random):
    result = []
    for count, _, start in TENSORS:
        if start == "normal":
            result.append(0.5 * random.standard_normal(count))
        else:
            result.append(numpy.full(count, start))
    return [p.astype(numpy.float32).astype(numpy.float64) for p in result]


def gradients(random):
    """Elements of very different size; every fifth step has a norm far above 1."""
    elements = sum(count for count, _, _ in TENSORS)
    scales = 10.0 ** random.uniform(-7, -1, elements)
    rows = []
    for step in range(STEPS):
        row = scales * random.standard_normal(elements) * (300 if step % 5 == 4 else 1)
        rows.append(row.astype(numpy.float32).astype(numpy.float64))
    return rows


def split(row):
    ends = numpy.cumsum([count for count, _, _ in TENSORS])
    return numpy.split(row, ends[:-1])


def normalise(prototypes):
    with torch.no_grad():
        rows = prototypes.view(PROTOTYPES, -1)
        rows.copy_(torch.nn.functional.normalize(rows, dim=1, p=2))


def by_torch(start, rows, make, decay, prepare=None, has_prototypes=False):
    parameters = [torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in start]
    groups = [{"params": [p], "weight_decay": decay if decays else 0.0}
              for p, (_, decays, _) in zip(parameters, TENSORS)]
    optimizer = make(groups)
    result = []
    if has_prototypes:
        normalise(parameters[0])
    for step, row in enumerate(rows):
        for p, gradient in zip(parameters, split(row)):
            p.grad = torch.tensor(gradient)
        if has_prototypes and step < FROZEN_STEPS:
            parameters[0].grad = None
        if prepare:
            prepare(optimizer)
        optimizer.step()
        if has_prototypes:
            normalise(parameters[0])
        result.append(numpy.concatenate([p.detach().numpy().copy() for p in parameters]))
    return result


class Larc:
    """apex.parallel.LARC with clip=False: scales gradients and takes over the weight decay."""

    def __init__(self, trust, epsilon, decay):
        self.trust, self.epsilon, self.decay = trust, epsilon, decay

    def __call__(self, optimizer):
        for group, (_, decays, _) in zip(optimizer.param_groups, TENSORS):
            group["weight_decay"] = 0.0
            decay = self.decay if decays else 0.0
            for p in group["params"]:
                if p.grad is None:
                    continue
                p_norm, g_norm = torch.norm(p.data), torch.norm(p.grad)
                if p_norm != 0 and g_norm != 0:
                    rate = self.trust * p_norm / (g_norm + p_norm * decay + self.epsilon)
                    p.grad += decay * p.data
                    p.grad *= rate


def lamb_of_nvidia(start, rows, lr, beta1, beta2, epsilon, decay, max_grad_norm):
    """FusedLAMB: global clipping, de-biased moments, grad averaging, adam_w_mode, no use_nvlamb."""
    p = [x.copy() for x in start]
    m = [numpy.zeros_like(x) for x in start]
    v = [numpy.zeros_like(x) for x in start]
    result = []
    for t, row in enumerate(rows, 1):
        norm = numpy.linalg.norm(row)
        divisor = norm / max_grad_norm if norm > max_grad_norm else 1.0
        for i, gradient in enumerate(split(row / divisor)):
            m[i] = beta1 * m[i] + (1 - beta1) * gradient
            v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient
            u = (m[i] / (1 - beta1**t)) / (numpy.sqrt(v[i] / (1 - beta2**t)) + epsilon)
            ratio = 1.0
            if TENSORS[i][1]:
                u = u + decay * p[i]
                p_norm, u_norm = numpy.linalg.norm(p[i]), numpy.linalg.norm(u)
                if p_norm != 0 and u_norm != 0:
                    ratio = p_norm / u_norm
            p[i] = p[i] - lr * ratio * u
        result.append(numpy.concatenate(p))
    return result


def show(name, rows):
    print(name)
    for row in rows:
        print(" ".join(repr(float(x)) for x in row))


def main():
    random = numpy.random.default_rng(1)
    start, rows = starts(random), gradients(random)
    show("start", [numpy.concatenate(start)])
    show("gradients", rows)
    show("lamb", by_torch(start, rows, lambda groups: torch_optimizer.Lamb(
        groups, lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-6, clamp_value=10000, debias=True),
        DECAY))
    show("lamb_nvidia", lamb_of_nvidia(start, rows, LEARNING_RATE, 0.9, 0.999, 1e-6, DECAY, 1.0))
    show("sgd", by_torch(start, rows, lambda groups: torch.optim.SGD(
        groups, lr=LEARNING_RATE, momentum=0.9), DECAY))
    show("sgd_larc", by_torch(start, rows, lambda groups: torch.optim.SGD(
        groups, lr=LEARNING_RATE, momentum=0.9), DECAY, Larc(0.1, 1e-8, DECAY)))
    show("prototypes", by_torch(start, rows, lambda groups: torch.optim.SGD(
        groups, lr=LEARNING_RATE, momentum=0.9), DECAY, Larc(0.1, 1e-8, DECAY), True))


if __name__ == "__main__":
    main()
