"""SetFit, to compare with: for an interpreter with setfit and torch.

    PYTHON -m benchmarks.peers.set_fit CHECKPOINT TRAIN TEST --seeds 0 1 2

A sentence encoder learns from pairs of rows, then a logistic regression from its vectors, with SetFit's own defaults
but for `--iterations`. It reads the TSV and CSV files of `hugging_face_loop`, and prints a line of JSON for each seed.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments

from benchmarks.peers.hugging_face_loop import read


def main() -> None:
    """Trains once for each seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--text", default="sentence", help="column")
    parser.add_argument("--label", default="label", help="column")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--iterations", type=int, default=20, help="pairs of equal, and of different labels, for a row")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.set_defaults(second_text=None)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for seed in options.seeds:
        print(json.dumps({"seed": seed, "score": train(options, seed)}), flush=True)


def train(options: argparse.Namespace, seed: int) -> float:
    """The share of the test rows that are right."""
    ([texts], labels), ([test_texts], test_labels) = (read(file, options) for file in (options.train, options.test))
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            folder,
            batch_size=options.batch_size,
            num_epochs=1,
            num_iterations=options.iterations,
            max_length=options.max_length,
            seed=seed,
            save_strategy="no",
            report_to="none",
            show_progress_bar=False,
        )
        model = SetFitModel.from_pretrained(str(options.checkpoint), labels=sorted(set(labels)))
        Trainer(model, settings, Dataset.from_dict({"text": texts, "label": labels})).train()
        predicted = model.predict(test_texts, use_labels=True)
    return float(np.mean([str(name) == label for name, label in zip(predicted, test_labels, strict=True)]))


if __name__ == "__main__":
    main()
