#!/usr/bin/env python3
"""Makes fixtures/rules.jsonl and fixtures/classes.json: what the library `tokenizers` does.

    python3 -m venv V && V/bin/pip install tokenizers==0.23.3
    V/bin/python make_rules.py

A line of rules.jsonl is one tokenizer.json without its vocabulary, and the ids that it gives each
text of the first line, whose vocabulary all of them share. classes.json has every character of each
class that a step uses, and digests of what steps make of all characters. Tests need neither.
"""
import hashlib
import json
import pathlib
import random

import tokenizers
from tokenizers import normalizers as n
from tokenizers import pre_tokenizers as p

OUT = pathlib.Path(__file__).parent / "fixtures"
SPECIAL = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = [
    "", " ", "   ", "আমি", "আমি বাংলায় গান গাই।", "আমি  বাংলায়   গান\tগাই।",
    "রাম:লক্ষ্মণ a:b ক: :খ",
    "১২৩ 456 ৭8৯ ½ ² Ⅷ", "শেষ|শুরু ।। ॥ ৷ ৤ ৥", "Hello, World! (it's) “quoted” – dash… $5+3=8 €~`^",
    "য় য\u09bc ড় ড\u09bc", "a\u0301\u0302 e\u0301 \u0301x naïve",
    "zero\u200bwidth\u200djoiner\u200c",
    "\ufeffbom \u00a0nbsp\u3000wide", "tab\tnew\nline\r\nend\u2028x\u0085y",
    "\u0001control\u007f\u008f",
    "[MASK] token [mask] <unk> [SEP]x", "a [MASK]  b", "ﬁne Ｆｕｌｌ ½", "İSTANBUL ΣΊΣΥΦΟΣ ẞß",
    "日本語 한국어 👨\u200d👩\u200d👧 🇧🇩", "x" * 60, "\u2581a \u2581\u2581b", "foo_bar-baz qux.quux",
    "\u1735\u166d\U000111c9 \u2e52\u00a7", "\U00010d40\U00010d50 a\U0001e5d0b", "9,9 1,000.50",
    "--a--",
    "a--b", "-a-", "  lead and trail  ", "ক্ষ ন্ত্র র‍্য", "'' ``", "aaaa aaa aa a",
]
RULES = {
    "sahajBERT": (
        n.Sequence([n.Nmt(), n.NFKC(), n.Replace(tokenizers.Regex(" {2,}"), " "),
                    n.Replace("\u09e4", "\u0964"), n.Replace("\u09e5", "\u0965"),
                    n.Replace("|", "\u0964"), n.Replace("\u09f7", "\u0964"),
                    n.Replace(tokenizers.Regex(r"(?<=[\u0980-\u09ff]):"), "\u0983"),
                    n.Lowercase()]),
        p.Sequence([p.Metaspace(), p.Digits(individual_digits=True), p.Punctuation()])),
    "nmt": (n.Nmt(), p.Metaspace()),
    "nfc": (n.NFC(), p.Metaspace()),
    "nfd": (n.NFD(), p.Metaspace()),
    "nfkd accents": (n.Sequence([n.NFKD(), n.StripAccents(), n.Strip()]), p.Metaspace()),
    "nested": (n.Sequence([n.Sequence([n.Lowercase(), n.Sequence([n.NFC()])]), n.Strip()]),
               p.Sequence([p.Sequence([p.Metaspace(split=False)]), p.Digits()])),
    "prepend": (n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")]),
                p.Split("\u2581", "merged_with_next")),
    "empty matches": (n.Replace(tokenizers.Regex("b*"), "-"), p.WhitespaceSplit()),
    "anchors": (n.Sequence([n.Replace(tokenizers.Regex("^."), "<"),
                            n.Replace(tokenizers.Regex("(?i)[a-f]+$"), ">")]), p.Metaspace()),
    "words": (n.Replace(tokenizers.Regex(r"\b(\w)\w*\s?"), "w"), p.Metaspace()),
    "properties": (n.Replace(tokenizers.Regex(r"\p{Bengali}+|[[:upper:]]|\h{2}"), "p"),
                   p.Metaspace()),
    "whitespace": (n.NFC(), p.Whitespace()),
    "bert": (n.NFC(), p.BertPreTokenizer()),
    "delimiter": (n.NFC(), p.CharDelimiterSplit("a")),
    "length": (n.NFC(), p.FixedLength(3)),
    "never": (n.NFC(), p.Metaspace(prepend_scheme="never")),
    "first": (n.NFC(), p.Metaspace(prepend_scheme="first")),
    "digits metaspace": (n.NFC(), p.Sequence([p.Digits(), p.Metaspace()])),
    "split metaspace first": (n.NFC(), p.Sequence([p.WhitespaceSplit(),
                                                   p.Metaspace(prepend_scheme="first")])),
    "gpt": (n.NFC(), p.Split(tokenizers.Regex(
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
        "isolated")),
}
for behaviour in ["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"]:
    RULES["punctuation " + behaviour] = (n.NFC(), p.Punctuation(behaviour))
    RULES["split " + behaviour] = (n.NFC(), p.Split("-", behaviour))
    RULES["regex " + behaviour] = (n.NFC(), p.Split(tokenizers.Regex("a|-*"), behaviour))
    RULES["inverted " + behaviour] = (n.NFC(), p.Split(tokenizers.Regex("[a-m]+"), behaviour,
                                                       invert=True))


# Their expressions have classes, and Debian's Oniguruma does not know the characters of NEWER,
# those of Unicode 16: there is nothing to compare.
BY_CLASS = ["words", "properties", "gpt"]
NEWER = "\U00010d40"


def vocabulary():
    """Special tokens, every character of the texts but some, and pieces of them by chance."""
    chance = random.Random(44)
    whole = "\u2581".join(TEXTS).replace(" ", "\u2581")
    whole += whole.lower()
    pieces = {}
    for character in sorted(set(whole)):
        if chance.random() < 0.9:
            pieces[character] = -8 - chance.random()
    pieces["\u2581"] = -2.5
    for _ in range(400):
        begin = chance.randrange(len(whole))
        piece = whole[begin:begin + chance.randint(2, 5)]
        pieces[piece] = -3 - 2 * len(piece) - chance.random()
    return [[piece, 0.0] for piece in SPECIAL] + [list(item) for item in pieces.items()]


def tokenizer_of(vocab, normaliser, division):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram([tuple(v) for v in vocab], 1, False))
    tokenizer.normalizer = normaliser
    tokenizer.pre_tokenizer = division
    tokenizer.add_special_tokens(
        [tokenizers.AddedToken(token, normalized=token == "[MASK]", lstrip=token == "[MASK]",
                               special=True) for token in SPECIAL])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return tokenizer


def ranges(is_one):
    found = []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or not is_one(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def parts(step, text):
    return len(step.pre_tokenize_str(text))


def digest_of(step):
    """Of what the step makes of all characters, 256 at a time, each between a and b."""
    digest = hashlib.blake2b(digest_size=32)
    for first in range(0, 0x110000, 256):
        codes = [code for code in range(first, first + 256) if not 0xD800 <= code < 0xE000]
        text = "".join(f"a{chr(code)}b " for code in codes)
        digest.update(step.normalize_str(text).encode() if text else b"")
    return digest.hexdigest()


def main():
    vocab = vocabulary()
    rows = [{"vocab": vocab, "texts": TEXTS}]
    for name, (normaliser, division) in RULES.items():
        tokenizer = tokenizer_of(vocab, normaliser, division)
        whole = json.loads(tokenizer.to_str())
        whole["model"].pop("vocab")
        rows.append({"name": name, "tokenizer": whole,
                     "ids": [None if name in BY_CLASS and NEWER in text else
                             tokenizer.encode(text).ids[1:-1] for text in TEXTS]})
    with (OUT / "rules.jsonl").open("w") as out:
        for row in rows:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
    digits, punctuation = p.Digits(individual_digits=True), p.Punctuation()
    space, word = p.WhitespaceSplit(), p.Whitespace()
    classes = {
        "number": ranges(lambda c: parts(digits, f"a{c}b") == 3),
        "punctuation": ranges(lambda c: parts(punctuation, f"a{c}b") == 3),
        "space": ranges(lambda c: parts(space, f"a{c}b") == 2),
        "word": ranges(lambda c: parts(word, f"a{c}b") == 1),
        "digests": {name: digest_of(getattr(n, name)()) for name in
                    ["Nmt", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase"]},
    }
    (OUT / "classes.json").write_text(json.dumps(classes, separators=(",", ":")) + "\n")


main()
