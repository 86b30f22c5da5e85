"""Fine-tuning as the Hugging Face examples do it, to compare with: for an interpreter with torch and transformers.

    PYTHON -m benchmarks.peers.hugging_face_loop CHECKPOINT TRAIN DEV --seeds 0 1 2

One classifier or regressor on the pooled first token, batches in random order, each padded to its longest row, AdamW
without decay on biases and LayerNorm, linear decay after a linear warm-up, gradients clipped at a norm of 1. It reads
TSV (nothing quoted) and CSV files with a header, and prints a line of JSON for each seed.
"""

import argparse
import csv
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from benchmarks.peers.transformers_masked_tokens import groups

# A compiled model has one graph for each padded length.
MULTIPLE = 16


def main() -> None:
    """Trains once for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--text", default="sentence", help="column")
    parser.add_argument("--second-text", help="column, for pairs")
    parser.add_argument("--label", default="label", help="column")
    parser.add_argument("--regression", action="store_true", help="labels are numbers; the score is Spearman's")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--max-steps", type=int, help="stop here; the schedule stays that of all epochs")
    parser.add_argument("--bfloat16", action="store_true", help="torch.autocast")
    parser.add_argument("--compiled", action="store_true", help="torch.compile, a graph for each multiple of 16 tokens")
    parser.add_argument("--grouped", action="store_true", help="batches of rows of similar length")
    parser.add_argument("--warm-up", type=int, default=0, help="first steps that are not timed")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for seed in options.seeds:
        print(json.dumps({"seed": seed, **train(options, seed)}), flush=True)


def read(file: Path, options: argparse.Namespace) -> tuple[list[list[str]], list[str]]:
    """The texts, one list for a row's first and one for its second, and the labels."""
    tsv = file.suffix == ".tsv"
    columns = [options.text, *([options.second_text] if options.second_text else [])]
    with file.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(
            stream, delimiter="\t" if tsv else ",", quoting=csv.QUOTE_NONE if tsv else csv.QUOTE_MINIMAL
        )
        rows = list(reader)
    return [[row[column].strip() for row in rows] for column in columns], [row[options.label] for row in rows]


def train(options: argparse.Namespace, seed: int) -> dict[str, float]:
    """The score on the dev file, and sentences a second of the training steps."""
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(options.checkpoint)
    texts, names = read(options.train, options)
    classes = [] if options.regression else sorted(set(names))
    model = AutoModelForSequenceClassification.from_pretrained(options.checkpoint, num_labels=len(classes) or 1)
    labels = torch.tensor([classes.index(name) if classes else float(name) for name in names])
    rows_of = tokenizer(*texts, truncation=True, max_length=options.max_length)
    features = {key: rows_of[key] for key in ("input_ids", "token_type_ids")}
    lengths = [len(ids) for ids in features["input_ids"]]
    torch._dynamo.config.recompile_limit = options.max_length
    call = torch.compile(model, dynamic=False) if options.compiled else model
    grouped = lengths if options.grouped else None
    padding = {"pad_to_multiple_of": MULTIPLE} if options.compiled else {}

    def measure(rows: list[int]) -> torch.Tensor:
        chosen = {key: [values[row] for row in rows] for key, values in features.items()}
        batch = tokenizer.pad(chosen, return_tensors="pt", **padding)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bfloat16):
            logits = call(**batch).logits.float()
        if classes:
            return torch.nn.functional.cross_entropy(logits, labels[rows])
        return torch.nn.functional.mse_loss(logits.squeeze(1), labels[rows])

    if options.compiled:
        compile_lengths(model, measure, lengths, options.batch_size)
    steps = round(options.epochs * len(names) / options.batch_size)
    done = min(steps, options.max_steps or steps)
    start = time.perf_counter()
    for number in itertools.islice(train_steps(model, measure, len(names), steps, options, seed, grouped), done):
        if number == options.warm_up:
            start = time.perf_counter()
    seconds = time.perf_counter() - start
    return {
        "sentences_per_second": (done - options.warm_up) * options.batch_size / seconds,
        "minutes": seconds / 60,
        "score": evaluate(model, tokenizer, classes, options),
    }


def compile_lengths(
    model: torch.nn.Module, loss: Callable[[list[int]], torch.Tensor], lengths: list[int], batch_size: int
) -> None:
    """Compiles forward and backward pass for every padded length, outside of what is timed."""
    model.train()
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    padded = [-(-lengths[row] // MULTIPLE) for row in by_length]
    for last in {length: index + 1 for index, length in enumerate(padded)}.values():
        loss(by_length[max(0, last - batch_size) : max(last, batch_size)]).backward()
        model.zero_grad()


def group(rows: list[int], lengths: list[int], batch_size: int, random: np.random.Generator) -> list[int]:
    """Sorts 50 batches at once by length, as transformers' `LengthGroupedSampler`, and shuffles their batches."""
    grouped = []
    for start in range(0, len(rows), 50 * batch_size):
        part = sorted(rows[start : start + 50 * batch_size], key=lengths.__getitem__)
        batches = [part[first : first + batch_size] for first in range(0, len(part), batch_size)]
        # A batch that is not full stays the last one.
        full, rest = batches[: len(part) // batch_size], batches[len(part) // batch_size :]
        grouped += [full[index] for index in random.permutation(len(full))] + rest
    return [row for batch in grouped for row in batch]


def train_steps(
    model: torch.nn.Module,
    loss: Callable[[list[int]], torch.Tensor],
    count: int,
    steps: int,
    options: argparse.Namespace,
    seed: int,
    lengths: list[int] | None = None,
) -> Iterator[int]:
    """Trains step by step, by the loss of the numbers of a batch's rows; yields the number of steps that are done.

    With the rows' lengths, batches have rows of similar length.
    """
    random, order = np.random.default_rng(seed), list[int]()
    optimizer = torch.optim.AdamW(
        groups(model, 0.01), lr=options.learning_rate, betas=(0.9, 0.999), eps=1e-6, fused=True
    )
    schedule = get_linear_schedule_with_warmup(optimizer, round(0.1 * steps), steps)
    model.train()
    for number in range(steps):
        while len(order) < options.batch_size:
            shuffled = random.permutation(count).tolist()
            order += shuffled if lengths is None else group(shuffled, lengths, options.batch_size, random)
        rows, order = order[: options.batch_size], order[options.batch_size :]
        loss(rows).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        yield number + 1


@torch.no_grad()  # type: ignore[untyped-decorator]
def evaluate(model: torch.nn.Module, tokenizer: Any, classes: list[str], options: argparse.Namespace) -> float:
    """The share of the dev rows that are right; of a regressor Spearman's correlation."""
    model.eval()
    texts, names = read(options.dev, options)
    outputs = []
    for start in range(0, len(names), 64):
        part = [column[start : start + 64] for column in texts]
        batch = tokenizer(*part, truncation=True, max_length=options.max_length, padding=True, return_tensors="pt")
        outputs.append(model(**batch).logits)
    logits = torch.cat(outputs).numpy()
    if not classes:
        return float(spearmanr(logits[:, 0], [float(name) for name in names]).statistic)
    return float(np.mean([classes[row.argmax()] == name for row, name in zip(logits, names, strict=True)]))


if __name__ == "__main__":
    main()
