#!/usr/bin/env python3
"""Makes fixtures/seqeval_cases.tsv with seqeval 1.2.2 in its default mode.

    pip install seqeval
    tests/project_server/finetune/make_seqeval_cases.py

A case in each line: the true tags and the predicted ones of some sentences (blanks between words,
" / " between sentences), precision, recall, F1, and the names that seqeval sees in the predicted
tags of the first sentence, TYPE:FIRST:LAST.
"""

import pathlib
import random
import warnings

from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

warnings.simplefilter("ignore")
USUAL = ["O", "O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
ODD = USUAL + ["B", "I", "B-", "I-", "E-PER", "S-PER", "S", "E", "TIM", "PER", "O-PER", ".", ".-X",
               "I-A-B", "B-A-B", "L-PER", "U-LOC", "-", "i-PER"]


def draw(chance, tags):
    sentences = []
    for _ in range(chance.randint(1, 3)):
        sentences.append([chance.choice(tags) for _ in range(chance.randint(1, 8))])
    return sentences


def alter(chance, sentences, tags):
    rate = chance.choice([0, 0.1, 0.3, 0.8])
    return [[chance.choice(tags) if chance.random() < rate else tag for tag in sentence]
            for sentence in sentences]


def text(sentences):
    return " / ".join(" ".join(sentence) for sentence in sentences)


def main():
    chance = random.Random(7)
    cases = [([["O", "O"]], [["O", "O"]]), ([["O"]], [["B-PER"]]), ([["B-PER"]], [["O"]]),
             ([["B-PER", "I-PER"]], [["I-PER", "I-PER"]]),
             ([["B-PER"], ["I-PER"]], [["B-PER"], ["I-PER"]])]
    for tags, count in ((USUAL, 150), (ODD, 250)):
        for _ in range(count):
            true = draw(chance, tags)
            cases.append((true, alter(chance, true, tags)))
    path = pathlib.Path(__file__).parent / "fixtures" / "seqeval_cases.tsv"
    with path.open("w") as file:
        for true, found in cases:
            names = " ".join(f"{kind}:{first}:{last}"
                             for kind, first, last in get_entities(found[0]))
            scores = [f(true, found) for f in (precision_score, recall_score, f1_score)]
            columns = [text(true), text(found), *(f"{score:.17g}" for score in scores), names]
            file.write("\t".join(columns) + "\n")


if __name__ == "__main__":
    main()
