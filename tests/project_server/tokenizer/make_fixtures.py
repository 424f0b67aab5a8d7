#!/usr/bin/env python3
"""Makes fixtures/: a small tokenizer of ALBERT and the ids that transformers gives with it.

    python3 -m venv V4 && V4/bin/pip install transformers==4.57.6 sentencepiece protobuf
    python3 -m venv V5 && V5/bin/pip install transformers==5.24.0 sentencepiece protobuf
    V4/bin/python make_fixtures.py && V5/bin/python make_fixtures.py

The first one trains spiece.model on README.md of this repository and writes tokenizer.json and
cases.jsonl, the second one writes saved_by_5.json and its ids. Tests need neither.
"""
import json
import pathlib
import random
import shutil
import tempfile

import sentencepiece
import transformers

HERE = pathlib.Path(__file__).parent
OUT = HERE / "fixtures"
VARIANTS = {
    "usual": {},
    "cased": {"do_lower_case": False},
    "accents": {"keep_accents": True},
    "cased_accents": {"do_lower_case": False, "keep_accents": True},
}
HAND = [
    "", " ", "   ", "Hello, World!", "HELLO  world ", "  two  spaces   and\ttab\nand line ",
    "Naïve café — “quoted” ``text'' 'single'", "``a'' '' ``", "9, 10, 1,000 3.14 9,9, x,",
    "İstanbul DİYARBAKIR ıI", "ΣΊΣΥΦΟΣ σίσυφος ΟΔΥΣΣΕΥΣ", "ﬁne ﬂow Ⅷ ½ ² ①", "Ｆｕｌｌ　ｗｉｄｔｈ",
    "a\u0301 e\u0308 \u0301x", "[MASK] token [SEP] inside", "x [MASK]  y<unk>z <pad>[CLS]",
    "[mask] [Mask]",
    "\u2581 a\u2581b", "\u00a0no\u00a0break", "zero\u200bwidth\u200djoiner \ufeffbom",
    "soft\u00adhyphen",
    "control\u0001\u007f\u0085\u2028 end", "한국어 \u1100\u1161\u11a8 각", "日本語 \u3099か\u3099",
    "বাংলা য় \u09df ক্ষ",
    "👨\u200d👩\u200d👧 🇩🇪🇫 ok", "ß ẞ ſ K Å", "x" * 300, "\r\n\r\n a\r\nb", "\u1e9b\u0323 \u0958",
    "e\u0301\u0323",
    "The (quick) \"brown\" fox - jumped. £5 €6", "$1,000,000, and 5, and ², and ٣,",
]


def texts():
    chance = random.Random(40)
    signs = [chr(c) for c in [0x20, 0x20, 0x20, 0x0A, 0x0D, 0x09, 0xA0, 0x2581, 0x41, 0x49, 0x130,
    0x3A3,
                              0x3C2, 0x301, 0x307, 0xE9, 0x2019, 0x60, 0x60, 0x27, 0x27, 0x2C,
                              0x39, 0x31,
                              0xB2, 0x661, 0xFB01, 0xFF21, 0xAC00, 0x1100, 0x1161, 0x200D, 0x200B,
                              0x1F468,
                              0x1F1E9, 0x9B0, 0x9CD, 0x9DF, 0x85, 0x2028, 0x3000, 0xAD, 0xFEFF,
                              0x7F, 0x1,
                              0x63, 0x68, 0x2D, 0x2E, 0x28, 0x22, 0x20AC, 0x7FD, 0x1CF2, 0x111C9,
                              0xA7F2]]
    words = ["<unk>", "[MASK]", "[CLS]", "[SEP]", "<pad>", "Hello", "the", "9,", "1,000", "``",
    "''"]
    found = list(HAND)
    for _ in range(200):
        found.append("".join(chance.choice(words) if chance.random() < 0.3 else chance.choice(signs)
                             for _ in range(chance.randint(1, 16))))
    return found


def train():
    rules = OUT / "rules.tsv"
    pairs = {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u200b": " ",
    "\u0085": " ",
             "\u0001": "", "\u007f": "", "\ufb01": "fi", "\ufb02": "fl", "\uff21": "A",
             "\u00b2": "2",
             "e\u0301": "é", "a\u0301": "á", "か\u3099": "が", "\u2028": " ", "\u00ad": ""}
    rules.write_text("".join(
        " ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n"
        for a, b in pairs.items()))
    text = (HERE / "../../../README.md").resolve().read_text().lower()
    lines = [line for line in text.split("\n") if line.strip()]
    lines += ["9, 10, 1,000, 99,", "\u00e9t\u00e9 caf\u00e9 \u00e1", "istanbul 2, fi fl"] * 5
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(OUT / "spiece"), vocab_size=400,
        model_type="unigram", normalization_rule_tsv=str(rules), pad_id=0, pad_piece="<pad>",
        unk_id=1,
        unk_piece="<unk>", bos_id=2, bos_piece="[CLS]", eos_id=3, eos_piece="[SEP]",
        control_symbols=["[MASK]"], user_defined_symbols=["(", ")", "\"", "-", ".", "£", "€"],
        num_threads=1)
    rules.unlink()
    (OUT / "spiece.vocab").unlink()


def folder(path, fields):
    shutil.copy(OUT / "spiece.model", path)
    (path / "config.json").write_text('{"model_type": "albert"}')
    (path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "AlbertTokenizer", **fields}))
    return transformers.AutoTokenizer.from_pretrained(path)


def ids_of(tokenizer, all_texts):
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in all_texts]


def main():
    OUT.mkdir(exist_ok=True)
    cases = OUT / "cases.jsonl"
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        if transformers.__version__.startswith("4."):
            train()
            columns = {"text": texts()}
            for name, fields in VARIANTS.items():
                tokenizer = folder(place, fields)
                columns[name] = ids_of(tokenizer, columns["text"])
                if name == "usual":
                    tokenizer.backend_tokenizer.save(str(OUT / "tokenizer.json"), pretty=False)
        else:
            rows = [json.loads(line) for line in cases.read_text().splitlines()]
            columns = {key: [row[key] for row in rows] for key in rows[0]}
            tokenizer = folder(place, {})
            tokenizer.backend_tokenizer.save(str(OUT / "saved_by_5.json"), pretty=False)
            columns["saved_by_5"] = ids_of(tokenizer, columns["text"])
    rows = zip(*columns.values())
    cases.write_text("".join(json.dumps(dict(zip(columns, row))) + "\n" for row in rows))


if __name__ == "__main__":
    main()
