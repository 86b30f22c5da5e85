"""SetFit and transformers' Trainer on labelled texts, for `benchmarks.new_heads`.

    python -m benchmarks.peers.text_classifiers {setfit,trainer} CHECKPOINT ROWS.json

ROWS.json has `train` and `test`, lists of a text and a label, and the settings of the training. Prints the accuracy.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

Rows = list[tuple[str, str]]


def main() -> None:
    """Trains one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("setfit", "trainer"))
    parser.add_argument("checkpoint")
    parser.add_argument("rows", type=Path)
    options = parser.parse_args()
    given = json.loads(options.rows.read_text())
    train = train_setfit if options.kind == "setfit" else train_trainer
    answers = train(options.checkpoint, given)
    right = sum(answer == label for answer, (_, label) in zip(answers, given["test"], strict=True))
    sys.stdout.write(f"{right / len(answers)}\n")


def train_setfit(checkpoint: str, given: dict[str, Any]) -> list[str]:
    """Pairs of texts for one epoch, 20 of each kind a text, then a logistic regression (Tunstall et al. 2022)."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder, num_epochs=1, num_iterations=20, body_learning_rate=2e-5, seed=given["seed"]
        )
        texts, labels = zip(*given["train"], strict=True)
        rows = Dataset.from_dict({"text": texts, "label": labels})
        Trainer(model=model, args=settings, train_dataset=rows).train()
    return [str(answer) for answer in model.predict([text for text, _ in given["test"]])]


def train_trainer(checkpoint: str, given: dict[str, Any]) -> list[str]:
    """A classifier on the state of the first token, with the rate, epochs and batches of ours."""
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(given["seed"])
    labels = sorted({label for _, label in given["train"]})
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, num_labels=len(labels))

    def encode(rows: Rows) -> list[dict[str, Any]]:
        inputs = tokenizer([text for text, _ in rows], truncation=True, max_length=given["max_length"])
        numbers = [labels.index(label) if label in labels else 0 for _, label in rows]
        return [
            {**{name: values[row] for name, values in inputs.items()}, "labels": number}
            for row, number in enumerate(numbers)
        ]

    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            num_train_epochs=given["epochs"],
            learning_rate=given["rate"],
            per_device_train_batch_size=given["batch_size"],
            warmup_ratio=0.1,
            weight_decay=0.01,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            seed=given["seed"],
        )
        trainer = Trainer(
            model=model,
            args=settings,
            train_dataset=encode(given["train"]),
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        trainer.train()
        logits = torch.from_numpy(trainer.predict(encode(given["test"])).predictions)
    return [labels[number] for number in logits.argmax(dim=1).tolist()]


if __name__ == "__main__":
    main()
