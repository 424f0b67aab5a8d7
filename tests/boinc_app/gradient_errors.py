#!/usr/bin/env python3
"""Relative errors of a whole gradient against binary64, by precision and number of layers.

    pip install torch transformers
    tests/boinc_app/gradient_errors.py build/release/tests/boinc_app/albert/albert_parity_test

Hugging Face's AlbertForPreTraining computes the gradient of a micro-batch in binary64, in binary32
and by autocast to bf16; a hidden case of albert_parity_test computes it from the same binary32
weights with the trainer's model in fp32 and in bf16 (libtorch's products, and the processor's fused
kernels). Prints the norm of the difference from binary64, relative to the gradient's norm, in %.
"""

import argparse
import copy
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).parent / "fixtures"))
from make_albert_fixtures import gradients_of, loss_of, write_model, write_parity  # noqa: E402

CASE = "[.gradient_error]"


def shape_of(width, layers, length):
    return dict(
        vocab_size=200 if width < 512 else 8_000,
        embedding_size=min(width, 128),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=max(width // 64, 2),
        intermediate_size=4 * width,
        max_position_embeddings=length,
        deviation=0.05 if width < 512 else 0.02,
        lengths=[length, length - 5, length - 16, length],
    )


def whole(gradients):
    return torch.cat([value.double().flatten() for _, value in sorted(gradients.items())])


def errors(program, shape):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, batch = write_model(folder, shape, seed=5)
        exact_model = copy.deepcopy(model).double()
        exact = gradients_of(exact_model, loss_of(exact_model, batch))
        norm = whole(exact).norm()
        found = {"Python, fp32": gradients_of(model, loss_of(model, batch))}
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(model, batch)
        found["Python, autocast"] = gradients_of(model, loss)
        found = {key: ((whole(g) - whole(exact)).norm() / norm).item() for key, g in found.items()}
        write_parity(folder, batch, exact, {}, {})
        ours = subprocess.run(
            [program, CASE],
            env=os.environ | {"DEDLOC_GRADIENT": name},
            stdout=subprocess.PIPE,
            text=True,
        )
    if ours.returncode != 0:
        sys.exit(f"{program} has failed: {ours.stdout}")
    for kind, error in re.findall(r"^(ours, .*): ([-+.e0-9]+)$", ours.stdout, re.M):
        found[kind] = float(error)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="albert_parity_test")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--length", type=int, default=32, help="tokens of a sample")
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 6, 12, 24])
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    for layers in options.layers:
        shape = shape_of(options.width, layers, options.length)
        found = errors(options.program, shape)
        numbers = ", ".join(f"{name} {100 * error:.3g}" for name, error in found.items())
        print(f"{layers} layers of width {options.width}: {numbers}", flush=True)


if __name__ == "__main__":
    main()
