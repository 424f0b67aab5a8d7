#!/usr/bin/env python3
"""Compares the trainer's speed with Hugging Face's AlbertForPreTraining, in one run.

    pip install torch transformers
    tests/boinc_app/python_speed.py --bench build/release/bin/training_bench --model base

Every round measures each of them once, one after the other, so that other load of the machine
meets all of them: ours (training_bench), the Python model eager, and compiled by torch.compile.
All compute the gradient of the same loss for samples of full length without padding, 15 % of
whose tokens are masked, with the same micro-batch, number of threads and binary32 weights; none
updates the weights. Prints the median and the range of samples/s. Hugging Face's model computes
the scores of every token, ours only those of masked tokens: that is part of what is measured.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time

import torch
import transformers

MODELS = {
    "tiny": dict(vocabulary=8_000, width=128, embedding=128, layers=2, heads=2, length=64),
    "base": dict(vocabulary=30_000, width=768, embedding=128, layers=12, heads=12, length=512),
    "large": dict(vocabulary=30_000, width=1024, embedding=128, layers=24, heads=16, length=512),
}
MICRO_BATCHES = {"tiny": 32, "base": 2, "large": 1}
MASKED_SHARE = 0.15


def python_model(shape):
    config = transformers.AlbertConfig(
        vocab_size=shape["vocabulary"],
        embedding_size=shape["embedding"],
        hidden_size=shape["width"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        intermediate_size=4 * shape["width"],
        max_position_embeddings=shape["length"],
        hidden_act="gelu_new",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
    )
    return transformers.AlbertForPreTraining(config).train()


def python_batch(shape, samples):
    generator = torch.Generator().manual_seed(1)
    size = (samples, shape["length"])
    tokens = torch.randint(5, shape["vocabulary"], size, generator=generator)
    is_masked = torch.rand(size, generator=generator) < MASKED_SHARE
    return dict(
        input_ids=torch.where(is_masked, 4, tokens),
        token_type_ids=torch.zeros(size, dtype=torch.long),
        labels=torch.where(is_masked, tokens, -100),
        sentence_order_label=torch.zeros(samples, dtype=torch.long),
    )


def python_speed(model, batch, seconds):
    """Samples/s of forward and backward passes during at least `seconds`."""
    samples = len(batch["input_ids"])
    done, begin = 0, time.perf_counter()
    while True:
        model(**batch).loss.backward()
        model.zero_grad(set_to_none=False)
        done += samples
        took = time.perf_counter() - begin
        if took >= seconds:
            return done / took


def our_speed(options, shape, micro_batch, samples):
    words = [options.bench, "--steps", "1", "--target-batch", str(samples)]
    words += ["--micro-batch", str(micro_batch), "--threads", str(options.threads)]
    for name in shape:
        words += ["--" + name, str(shape[name])]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"([0-9.]+) samples/s", printed)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="the program training_bench")
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--micro-batch", type=int, help="samples computed at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="for each measurement")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    options = parser.parse_args()
    shape = MODELS[options.model]
    micro_batch = options.micro_batch or MICRO_BATCHES[options.model]
    torch.set_num_threads(options.threads)

    batch = python_batch(shape, micro_batch)
    model = python_model(shape)
    python = {"Python, eager": model}
    if not options.no_compile:
        python["Python, torch.compile"] = torch.compile(model)
    for candidate in python.values():
        python_speed(candidate, batch, 0)  # compiles, touches memory
        python_speed(candidate, batch, 0)
    speeds = {"training_bench": []} | {name: [] for name in python}
    samples = max(micro_batch, round(python_speed(model, batch, 2) * options.seconds))
    samples -= samples % micro_batch
    for _ in range(options.rounds):
        speeds["training_bench"].append(our_speed(options, shape, micro_batch, samples))
        for name, candidate in python.items():
            speeds[name].append(python_speed(candidate, batch, options.seconds))
    print(
        f"{options.model}: {options.threads} threads, micro-batches of {micro_batch}, torch "
        f"{torch.__version__}, transformers {transformers.__version__}, {options.rounds} rounds"
    )
    base = statistics.median(speeds["Python, eager"])
    for name, values in speeds.items():
        middle = statistics.median(values)
        print(
            f"  {name:24} {middle:9.3f} samples/s ({min(values):.3f} to {max(values):.3f}), "
            f"{middle / base:.2f} x eager"
        )


if __name__ == "__main__":
    sys.exit(main())
