#!/usr/bin/env python3
"""Compares the trainer's speed with Hugging Face's AlbertForPreTraining, in one run.

    pip install torch transformers
    tests/boinc_app/python_speed.py --bench build/release/bin/training_bench --model base
    tests/boinc_app/python_speed.py --bench build/release/bin/training_bench --model large \\
        --device cuda

Every round measures each of them once, one after the other, so that other load of the machine
meets all of them: ours (training_bench), the Python model eager, and compiled by torch.compile.
All compute the gradient of the same loss for samples of full length without padding, 15 % of
whose tokens are masked, with the same micro-batch, number of threads and binary32 weights; none
updates the weights. On a GPU all compute matrix products in bf16 and wait for the GPU after each
micro-batch; Hugging Face's ALBERT-large needs 75 GB for a micro-batch of 64. Prints the median and
the range of samples/s. Hugging Face's model computes the scores of every token, ours only those of
masked tokens: that is part of what is measured.
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
MICRO_BATCHES = {
    "cpu": {"tiny": 32, "base": 2, "large": 1},
    "cuda": {"tiny": 256, "base": 64, "large": 32},
}
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


def python_batch(shape, samples, device):
    generator = torch.Generator().manual_seed(1)
    size = (samples, shape["length"])
    tokens = torch.randint(5, shape["vocabulary"], size, generator=generator)
    is_masked = torch.rand(size, generator=generator) < MASKED_SHARE
    batch = dict(
        input_ids=torch.where(is_masked, 4, tokens),
        token_type_ids=torch.zeros(size, dtype=torch.long),
        labels=torch.where(is_masked, tokens, -100),
        sentence_order_label=torch.zeros(samples, dtype=torch.long),
    )
    return {name: values.to(device) for name, values in batch.items()}


def python_speed(model, batch, seconds):
    """Samples/s of forward and backward passes during at least `seconds`."""
    samples = len(batch["input_ids"])
    device = batch["input_ids"].device.type
    done, begin = 0, time.perf_counter()
    while True:
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = model(**batch).loss
        loss.backward()
        model.zero_grad(set_to_none=False)
        if device == "cuda":
            torch.cuda.synchronize()
        done += samples
        took = time.perf_counter() - begin
        if took >= seconds:
            return done / took


def our_speed(options, shape, micro_batch, samples):
    # Of several steps the first one does not count: a GPU chooses algorithms and takes memory.
    steps = "1" if options.device == "cpu" else "3"
    words = [options.bench, "--steps", steps, "--target-batch", str(samples)]
    words += ["--micro-batch", str(micro_batch), "--threads", str(options.threads)]
    words += ["--device", options.device]
    for name in shape:
        words += ["--" + name, str(shape[name])]
    if options.device == "cuda":
        torch.cuda.empty_cache()  # memory that Python does not use now
    bench = subprocess.run(words, stdout=subprocess.PIPE, text=True)  # errors are shown
    if bench.returncode != 0:
        sys.exit(f"{' '.join(words)} has failed")
    return float(re.search(r"([0-9.]+) samples/s", bench.stdout)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", required=True, help="the program training_bench")
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument("--device", choices=MICRO_BATCHES, default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--micro-batch", type=int, help="samples computed at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="for each measurement")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    options = parser.parse_args()
    shape = MODELS[options.model]
    micro_batch = options.micro_batch or MICRO_BATCHES[options.device][options.model]
    torch.set_num_threads(options.threads)

    batch = python_batch(shape, micro_batch, options.device)
    model = python_model(shape).to(options.device)
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
    where = f"{options.threads} threads"
    if options.device == "cuda":
        where = torch.cuda.get_device_name()
    print(
        f"{options.model}: {where}, micro-batches of {micro_batch}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}, {options.rounds} rounds"
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
