"""Fine-tuning as the Hugging Face examples do it, to compare with: for an interpreter with torch and transformers.

    PYTHON benchmarks/hugging_face_loop.py CHECKPOINT TRAIN DEV --seeds 0 1 2

One classifier or regressor on the pooled first token, batches in random order, each padded to its longest row, AdamW
without decay on biases and LayerNorm, linear decay after a linear warm-up, gradients clipped at a norm of 1. It reads
the two-column TSV and CSV files of the benchmarks, and prints a line of JSON for each seed.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup


def main() -> None:
    """Trains once for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--max-steps", type=int, help="stop here; the schedule stays that of all epochs")
    parser.add_argument("--bfloat16", action="store_true", help="torch.autocast")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for seed in options.seeds:
        print(json.dumps({"seed": seed, **train(options, seed)}), flush=True)


def read(file: Path) -> tuple[list[str], list[str]]:
    """Texts and labels of a file with a header and two columns."""
    delimiter, quoting = ("\t", csv.QUOTE_NONE) if file.suffix == ".tsv" else (",", csv.QUOTE_MINIMAL)
    with file.open(newline="", encoding="utf-8") as stream:
        _, *rows = csv.reader(stream, delimiter=delimiter, quoting=quoting)
    return [row[0].strip() for row in rows], [row[1] for row in rows]


def train(options: argparse.Namespace, seed: int) -> dict[str, float]:
    """Accuracy on the dev file, and sentences a second of the training steps."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    tokenizer = AutoTokenizer.from_pretrained(options.checkpoint)
    texts, names = read(options.train)
    known = sorted(set(names))
    labels = np.array([known.index(name) for name in names])
    model = AutoModelForSequenceClassification.from_pretrained(options.checkpoint, num_labels=len(known))
    ids = tokenizer(texts, truncation=True, max_length=options.max_length)["input_ids"]
    optimizer = torch.optim.AdamW(groups(model, 0.01), lr=options.learning_rate, betas=(0.9, 0.999), eps=1e-6)
    steps = round(options.epochs * len(texts) / options.batch_size)
    schedule = get_linear_schedule_with_warmup(optimizer, round(0.1 * steps), steps)
    model.train()
    order: list[int] = []
    start = time.perf_counter()
    done = min(steps, options.max_steps or steps)
    for _ in range(done):
        while len(order) < options.batch_size:
            order += random.permutation(len(texts)).tolist()
        rows, order = order[: options.batch_size], order[options.batch_size :]
        batch = tokenizer.pad({"input_ids": [ids[row] for row in rows]}, return_tensors="pt")
        with torch.autocast("cpu", torch.bfloat16, enabled=options.bfloat16):
            logits = model(**batch).logits
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.tensor(labels[rows]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    seconds = time.perf_counter() - start
    return {
        "sentences_per_second": done * options.batch_size / seconds,
        "minutes": seconds / 60,
        "accuracy": evaluate(model, tokenizer, known, options),
    }


def groups(model: torch.nn.Module, decay: float) -> list[dict]:
    """The parameters that decay, and those that do not."""
    named = list(model.named_parameters())
    exempt = [parameter for name, parameter in named if name.endswith("bias") or "LayerNorm" in name]
    rest = [parameter for name, parameter in named if not (name.endswith("bias") or "LayerNorm" in name)]
    return [{"params": rest, "weight_decay": decay}, {"params": exempt, "weight_decay": 0.0}]


@torch.no_grad()
def evaluate(model: torch.nn.Module, tokenizer: object, known: list[str], options: argparse.Namespace) -> float:
    """Percent of the dev rows."""
    model.eval()
    texts, names = read(options.dev)
    right = 0
    for start in range(0, len(texts), 64):
        part = slice(start, start + 64)
        batch = tokenizer(
            texts[part], truncation=True, max_length=options.max_length, padding=True, return_tensors="pt"
        )
        predicted = model(**batch).logits.argmax(-1).tolist()
        right += sum(known[one] == name for one, name in zip(predicted, names[part], strict=True))
    return 100 * right / len(texts)


if __name__ == "__main__":
    main()
