#!/usr/bin/env python3
"""Compares `dedloc corpus tokenize` with Hugging Face, line by line, and measures both.

    python3 -m venv V && V/bin/pip install tokenizers==0.23.3 transformers==5.24.0
    V/bin/python compare_tokenizers.py DEDLOC TOKENIZER TEXT...

TOKENIZER is a tokenizer.json, which the library `tokenizers` reads, or a folder, such as that of
`dedloc run export`, which AutoTokenizer of transformers reads. Times are those of a processor, in
one thread, without reading and writing. The exit status is 1 if a line has other ids.
"""
import os
import pathlib
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def encoder_of(path):
    """A function from a text to its ids, without special tokens around them."""
    if path.is_dir():
        import transformers
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        return lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def lines_of(texts):
    lines = []
    for text in texts:
        lines += pathlib.Path(text).read_bytes().decode().split("\n")
        if lines[-1] == "":
            lines.pop()
    return lines


def main():
    dedloc, tokenizer, texts = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    command = [dedloc, "corpus", "tokenize", "--tokenizer", str(tokenizer), *texts]
    ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    lines = lines_of(texts)
    encode = encoder_of(tokenizer)
    begin = time.process_time()
    theirs = [encode(line) for line in lines]
    seconds = time.process_time() - begin
    differ = [i for i, ids in enumerate(theirs) if ours[i] != " ".join(map(str, ids))]
    tokens = sum(map(len, theirs))
    print(f"{len(lines) - len(differ)} of {len(lines)} lines equal")
    for i in differ[:5]:
        print(f"line {i + 1}: {lines[i]!r}\n  dedloc {ours[i]}\n  theirs {theirs[i]}")
    print(f"Hugging Face: {tokens} tokens in {seconds:.3f} s: {tokens / seconds:.0f} tokens/s")
    counted = subprocess.run([*command, "--count"], check=True, capture_output=True, text=True)
    print(f"dedloc: {counted.stdout.strip()}")
    return 1 if differ else 0


sys.exit(main())
