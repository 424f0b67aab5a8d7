#!/usr/bin/env python3
"""Checks a folder of `dedloc run export` with transformers.

    pip install torch transformers sentencepiece
    tests/boinc_app/check_export.py FOLDER [--text FILE...] [--parity FOLDER]

The model must load without missing, unexpected or mismatched tensors, with the file's bits. The
tokenizer that AutoTokenizer makes must give SentencePiece's own ids for every line of --text, and
AlbertTokenizer must load. With --parity, a folder of tests/boinc_app/fixtures, the model must have
that fixture's parameters and logits.
"""

import argparse
import pathlib
import sys

import safetensors.torch
import sentencepiece
import torch
import transformers

UNUSUAL = [
    "Straße ÄÖÜ café  naïve ﬁne Ⅷ ①  x",
    "  blanks   around   ",
    "“Quoted” ``tick'' 9, 10,000",
    "汉字 かな",
    "a\u200bb\tc\u00a0d",
    "İstanbul ẞ Ω",
    "e\u0301 cafe\u0301",
    "x^2 ... … — –",
    "😀",
    "",
]


def require(condition, sentence):
    if not condition:
        sys.exit(f"check_export: {sentence}")


def check_model(folder):
    model, info = transformers.AlbertForPreTraining.from_pretrained(
        folder, output_loading_info=True
    )
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        require(not info[kind], f"{kind}: {info[kind]}")
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    state = model.state_dict()
    for name, tensor in stored.items():
        require(torch.equal(tensor, state[name]), f"{name} differs from the file")
    decoder = model.predictions.decoder.weight
    require(decoder is model.albert.embeddings.word_embeddings.weight, "the decoder is not tied")
    count = sum(tensor.numel() for tensor in stored.values())
    print(f"model: {len(stored)} tensors, {count} parameters, none missing or unexpected")
    return model.eval()


def check_tokenizer(folder, model, texts):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    albert = transformers.AlbertTokenizer.from_pretrained(folder)
    reference = sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    require(len(tokenizer) == model.config.vocab_size, "the vocabulary has another size")
    require(len(albert) == model.config.vocab_size, "AlbertTokenizer has another vocabulary")
    # In a text, special tokens are tokens for transformers and characters for SentencePiece.
    special = tokenizer.all_special_tokens
    lines = UNUSUAL + [
        line
        for text in texts
        for line in text.read_text().splitlines()
        if not any(token in line for token in special)
    ]
    different = [
        line
        for line in lines
        if tokenizer(line, add_special_tokens=False)["input_ids"] != reference.encode(line)
    ]
    require(not different, f"{len(different)} texts have other token ids, first {different[:1]}")
    pair = tokenizer("A sentence.", "Another one.")
    ids = pair["input_ids"]
    require(ids[0] == tokenizer.cls_token_id, "no [CLS] at the beginning")
    require(ids.count(tokenizer.sep_token_id) == 2, "not two [SEP]")
    require(pair["token_type_ids"][-1] == 1, "the second sentence has type 0")
    masked = tokenizer("A [MASK] one.", add_special_tokens=False)["input_ids"]
    require(tokenizer.mask_token_id in masked, "[MASK] is not a token of its own")
    print(f"tokenizer: equal ids for {len(lines)} texts, {len(tokenizer)} pieces")
    return tokenizer


def check_parity(model, fixture):
    expected = safetensors.torch.load_file(fixture / "model.safetensors")
    state = model.state_dict()
    for name, tensor in expected.items():
        require(torch.equal(tensor, state[name]), f"{name} is not the fixture's")
    batch = safetensors.torch.load_file(fixture / "parity.safetensors")
    places = torch.arange(batch["tokens"].shape[1])
    mask = (places[None, :] < batch["lengths"][:, None]).long()
    with torch.no_grad():
        logits = model(
            input_ids=batch["tokens"], attention_mask=mask, token_type_ids=batch["types"]
        )
    error = max(
        (logits.prediction_logits - batch["prediction_logits"])[mask.bool()].abs().max().item(),
        (logits.sop_logits - batch["sop_logits"]).abs().max().item(),
    )
    require(error < 1e-5, f"the logits differ by {error}")
    print(f"parity: equal parameters, logits within {error:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--parity", type=pathlib.Path)
    arguments = parser.parse_args()
    model = check_model(arguments.folder)
    tokenizer = check_tokenizer(arguments.folder, model, arguments.text)
    with torch.no_grad():
        batch = tokenizer("A [MASK] one.", "Two.", truncation=True, return_tensors="pt")
        logits = model(**batch).prediction_logits
    require(torch.isfinite(logits).all(), "the logits are not finite")
    if arguments.parity:
        check_parity(model, arguments.parity)


main()
