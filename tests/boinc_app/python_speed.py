#!/usr/bin/env python3
"""Compares the trainer's speed with Hugging Face's AlbertForPreTraining, in one run.

    pip install torch transformers
    tests/boinc_app/python_speed.py --bench build/release/bin/training_bench --model base
    tests/boinc_app/python_speed.py --bench build/release/bin/training_bench --model large \\
        --device cuda

Every round measures each of them once, one after the other, so that other load of the machine
meets all of them: ours (training_bench), and the Python model with the attention of its eager form,
with PyTorch's scaled_dot_product_attention (SDPA), and compiled by torch.compile. On a processor
each of them computes in fp32 and in bf16: ours by --precision, Python's by autocast. All compute
the gradient of the same loss for samples of full length without padding, 15 % of whose tokens are
masked, with the same micro-batch, number of threads and binary32 weights; none updates the weights.
On a GPU all compute matrix products in bf16 and wait for the GPU after each micro-batch; Hugging
Face's ALBERT-large needs 75 GB for a micro-batch of 64. Prints the median and the range of
samples/s. Hugging Face's model computes the scores of every token, ours only those of masked
tokens: that is part of what is measured. On a processor "products alone" is what the layers' matrix
products of weights would take if there were nothing else, measured in the same rounds.
"""

import argparse
import functools
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
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def python_model(shape, attention):
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
        attn_implementation=attention,
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


def python_speed(model, precision, batch, seconds):
    """Samples/s of forward and backward passes during at least `seconds`."""
    samples = len(batch["input_ids"])
    device = batch["input_ids"].device.type
    done, begin = 0, time.perf_counter()
    while True:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(**batch).loss
        loss.backward()
        model.zero_grad(set_to_none=False)
        if device == "cuda":
            torch.cuda.synchronize()
        done += samples
        took = time.perf_counter() - begin
        if took >= seconds:
            return done / took


def products_speed(shape, precision, micro_batch, seconds):
    """Samples/s of the products of a layer's weights alone: forward, and by inputs and weights."""
    tokens, width = micro_batch * shape["length"], shape["width"]
    kind = dict(dtype=TYPES[precision])
    maps = []
    for out, into, uses in [(width, width, 4), (4 * width, width, 1), (width, 4 * width, 1)]:
        x, weight = torch.randn(tokens, into, **kind), torch.randn(out, into, **kind)
        maps.append((x, weight, torch.randn(tokens, out, **kind), uses))
    done, begin = 0, time.perf_counter()
    while True:
        for x, weight, gradient, uses in maps:
            for _ in range(uses):
                torch.mm(x, weight.t()), torch.mm(gradient, weight), torch.mm(gradient.t(), x)
        done += 1
        took = time.perf_counter() - begin
        if took >= seconds:
            return micro_batch * done / took / shape["layers"]


def our_speed(options, precision, shape, micro_batch, samples):
    # Of several steps the first one does not count: a GPU chooses algorithms and takes memory.
    steps = "1" if options.device == "cpu" else "3"
    words = [options.bench, "--steps", steps, "--target-batch", str(samples)]
    words += ["--micro-batch", str(micro_batch), "--threads", str(options.threads)]
    words += ["--device", options.device, "--precision", precision]
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
    parser.add_argument("--no-eager", action="store_true", help="leave out eager attention")
    parser.add_argument(
        "--precision", choices=TYPES, help="of a processor: only this one, not fp32 and bf16"
    )
    options = parser.parse_args()
    shape = MODELS[options.model]
    micro_batch = options.micro_batch or MICRO_BATCHES[options.device][options.model]
    torch.set_num_threads(options.threads)

    batch = python_batch(shape, micro_batch, options.device)
    models = {}
    if not options.no_eager:
        models["eager"] = python_model(shape, "eager").to(options.device)
    models["SDPA"] = python_model(shape, "sdpa").to(options.device)
    precisions = [options.precision] if options.precision else list(TYPES)
    if options.device == "cuda":
        precisions = ["bf16"]
    measures = {}  # how long each is to be measured -> samples/s
    for precision in precisions:
        python = dict(models)
        if not options.no_compile:
            python["torch.compile"] = torch.compile(python_model(shape, "sdpa").to(options.device))
        speed = functools.partial(python_speed, precision=precision, batch=batch)
        for model in python.values():
            speed(model, seconds=0)  # compiles, touches memory
            speed(model, seconds=0)
        samples = max(micro_batch, round(speed(models["SDPA"], seconds=2) * options.seconds))
        samples -= samples % micro_batch
        ours = functools.partial(our_speed, options, precision, shape, micro_batch, samples)
        measures[f"training_bench, {precision}"] = lambda seconds, ours=ours: ours()
        for name, model in python.items():
            measures[f"Python, {name}, {precision}"] = functools.partial(speed, model)
        if options.device == "cpu":
            measures[f"products alone, {precision}"] = functools.partial(
                products_speed, shape, precision, micro_batch
            )
    speeds = {name: [] for name in measures}
    for _ in range(options.rounds):
        for name, measure in measures.items():
            speeds[name].append(measure(seconds=options.seconds))
    where = f"{options.threads} threads"
    if options.device == "cuda":
        where = torch.cuda.get_device_name()
    print(
        f"{options.model}: {where}, micro-batches of {micro_batch}, torch {torch.__version__}, "
        f"transformers {transformers.__version__}, {options.rounds} rounds"
    )
    middles = {name: statistics.median(values) for name, values in speeds.items()}
    for precision in precisions:
        best = max(v for k, v in middles.items() if k.startswith("Python") and precision in k)
        for name, values in speeds.items():
            if not name.endswith(precision):
                continue
            print(
                f"  {name:28} {middles[name]:9.3f} samples/s ({min(values):.3f} to "
                f"{max(values):.3f}), {middles[name] / best:.2f} x the best of Python's"
            )


if __name__ == "__main__":
    sys.exit(main())
