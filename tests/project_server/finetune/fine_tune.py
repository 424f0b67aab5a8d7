#!/usr/bin/env python3
"""The same as `dedloc-evaluate finetune` with transformers, to compare with.

    pip install torch transformers seqeval
    tests/project_server/finetune/fine_tune.py --task ner --data FOLDER MODEL

MODEL is a Hugging Face folder of ALBERT. Prints one JSON object: figures of each seed, mean and
deviation of a sample. `--untrained` begins with new values.
"""

import argparse
import json
import pathlib
import statistics

import torch
import transformers
from seqeval.metrics import f1_score, precision_score, recall_score

NO_LABEL = -100


def read_names(path):
    sentences, words = [], []
    for line in path.read_text(encoding="utf-8-sig").splitlines() + [""]:
        if line.strip():
            word, tag = line.split("\t")
            words.append((word, tag))
        elif words:
            sentences.append(([w for w, _ in words], [t for _, t in words]))
            words = []
    return sentences


def read_classes(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    header = lines[0].split("\t")
    text, label = header.index("text"), header.index("category")
    rows = [line.split("\t") for line in lines[1:] if line]
    return [(row[text], row[label]) for row in rows]


def read_data(folder, task):
    end, read = (".iob", read_names) if task == "ner" else (".tsv", read_classes)
    parts = []
    for names in (["train"], ["valid", "dev"], ["test"]):
        path = next(p for p in (folder / (n + end) for n in names) if p.exists())
        parts.append(read(path))
    return parts


def labels_of(parts, task):
    labels = {}
    for part in parts:
        for _, label in part:
            for one in label if task == "ner" else [label]:
                labels.setdefault(one, len(labels))
    return labels


def encode(part, tokenizer, labels, task, limit):
    """Rows of (ids, labels): labels of first tokens, or the class."""
    rows = []
    for words, label in part:
        code = tokenizer(words, is_split_into_words=task == "ner", truncation=True,
                         max_length=limit)
        if task == "classify":
            rows.append((code["input_ids"], [labels[label]]))
            continue
        before, row = None, []
        for word in code.word_ids():
            row.append(NO_LABEL if word is None or word == before else labels[label[word]])
            before = word
        rows.append((code["input_ids"], row))
    return rows


def collate(rows, task, pad):
    length = max(len(ids) for ids, _ in rows)
    tokens = torch.tensor([ids + [pad] * (length - len(ids)) for ids, _ in rows])
    mask = torch.tensor([[1] * len(ids) + [0] * (length - len(ids)) for ids, _ in rows])
    if task == "classify":
        return tokens, mask, torch.tensor([label[0] for _, label in rows])
    return tokens, mask, torch.tensor(
        [label + [NO_LABEL] * (length - len(label)) for _, label in rows])


def losses(model, batch):
    """The sum of losses, and the logits."""
    tokens, mask, labels = batch
    logits = model(input_ids=tokens, attention_mask=mask).logits
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=NO_LABEL,
        reduction="sum"), logits


def measure(model, rows, names, task, pad):
    model.eval()
    total, count, right, wanted, found = 0.0, 0, 0, [], []
    ordered = sorted(rows, key=lambda row: len(row[0]))
    with torch.no_grad():
        for at in range(0, len(ordered), 64):
            batch = collate(ordered[at:at + 64], task, pad)
            loss, logits = losses(model, batch)
            best, labels = logits.argmax(-1), batch[2]
            known = labels != NO_LABEL
            total += loss.item()
            count += known.sum().item()
            right += (best[known] == labels[known]).sum().item()
            if task == "ner":
                for row in range(len(labels)):
                    wanted.append([names[i] for i in labels[row][known[row]].tolist()])
                    found.append([names[i] for i in best[row][known[row]].tolist()])
    scores = {"test_loss": total / count, "accuracy": right / count}
    if task == "ner":
        scores |= {"f1": f1_score(wanted, found), "precision": precision_score(wanted, found),
                   "recall": recall_score(wanted, found)}
    return scores


def train(options, parts, names, tokenizer, seed):
    torch.manual_seed(seed)
    kind = (transformers.AlbertForTokenClassification if options.task == "ner"
            else transformers.AlbertForSequenceClassification)
    config = transformers.AutoConfig.from_pretrained(options.model, num_labels=len(names))
    model = kind(config) if options.untrained else kind.from_pretrained(
        options.model, config=config)
    rows, valid, test = parts
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=0)
    steps = -(-len(rows) // options.batch) * options.epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    best, best_state, best_epoch, without_gain, pad = float("inf"), None, 0, 0, config.pad_token_id
    for epoch in range(1, options.epochs + 1):
        model.train()
        order = torch.randperm(len(rows)).tolist()
        for at in range(0, len(rows), options.batch):
            batch = collate([rows[i] for i in order[at:at + options.batch]], options.task, pad)
            loss = losses(model, batch)[0] / (batch[2] != NO_LABEL).sum()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        loss = measure(model, valid, names, options.task, pad)["test_loss"]
        without_gain = 0 if best - loss > options.threshold else without_gain + 1
        if loss < best:
            best, best_epoch = loss, epoch
            best_state = {key: value.clone() for key, value in model.state_dict().items()}
        if without_gain >= options.patience:
            break
    model.load_state_dict(best_state)
    return {"seed": seed, "epochs": epoch, "best_epoch": best_epoch, "valid_loss": best,
            **measure(model, test, names, options.task, pad)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", choices=["ner", "classify"], required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--untrained", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--patience", type=int, default=3)
    parser.add_argument("--threshold", type=float, default=0.01)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("model", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    data = read_data(options.data, options.task)
    labels = labels_of(data, options.task)
    parts = [encode(part, tokenizer, labels, options.task, options.max_tokens) for part in data]
    seeds = [train(options, parts, list(labels), tokenizer, seed)
             for seed in range(1, options.seeds + 1)]
    result = {"task": options.task, "seeds": seeds}
    for name in ("f1", "precision", "recall", "accuracy", "test_loss"):
        values = [seed[name] for seed in seeds if name in seed]
        if values:
            result[name] = statistics.mean(values)
            result[name + "_deviation"] = statistics.stdev(values) if len(values) > 1 else 0
    print(json.dumps(result))


if __name__ == "__main__":
    main()
