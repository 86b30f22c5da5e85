"""Wrong labels that were planted: how many a ranking of the training rows has among its first ones.

    python -m benchmarks.label_errors --checkpoint FOLDER --data FOLDER [--task sst2] [--rows 4000] [--share 0.05]

`--data` holds the folders sst2 (GLUE) and banking77. A share of some training rows gets another label, drawn by chance.
One run makes all rankings: confident learning (`[label_errors]`, its issues first), the out-of-fold loss alone, and, as
the baseline, the loss of the job's teacher, which has learnt from the planted labels itself. Labels that were wrong
before count as right, so that precision is a lower bound.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from components.artifacts.data import TaskExamples
from components.artifacts.label_errors import HeldOutProbabilities
from components.artifacts.models import Model
from components.examples.registry import read_rows
from components.files.csv_files import csv_line
from components.scoring.label_errors import RowJudgement, rank_rows
from components.scoring.registry import TASK_SCORING
from components.sources.table import TextRow, read_table
from components.training.model_folder import read_model
from keras_bert.metrics.calibration import probabilities
from keras_bert.metrics.label_errors import score_labels
from pipeline.chains import wire_fine_tuning
from pipeline.label_errors import wire_label_errors
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import pipeline_of, wire_start
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal


class LabelledTable(NamedTuple):
    """A public table: the files of training and of test, its columns, and epochs that suit some thousand rows."""

    train: str
    test: str
    text: str
    label: str
    epochs: float


TABLES = {
    "sst2": LabelledTable("sst2/train.tsv", "sst2/dev.tsv", "sentence", "label", 2.0),
    "banking77": LabelledTable("banking77/train.csv", "banking77/test.csv", "text", "category", 10.0),
}


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True, help="a BERT in Hugging Face's format")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--task", choices=TABLES, default="sst2")
    parser.add_argument("--rows", type=int, default=4000, help="training rows")
    parser.add_argument("--share", type=float, default=0.05, help="of rows with a planted label")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the rows and of the planted labels")
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(options, options.root or Path(temporary), Path(temporary))


def measure(options: argparse.Namespace, root: Path, folder: Path) -> None:
    """Plants labels, runs the steps and prints the rankings."""
    table = TABLES[options.task]
    planted = plant(options, folder / "planted.csv")
    settings = make_settings(options, table, folder / "planted.csv")
    start, examples = wire_start(settings)
    label_errors = wire_label_errors(settings, start, examples)
    teacher = wire_fine_tuning(settings, start, examples, 0).output(Model)
    pipeline = pipeline_of(settings.name, [label_errors, teacher])
    result = run_pipeline(pipeline, root, observer=Terminal(Console(stderr=True)))
    if result.state != "done":
        raise SystemExit(result.message)
    rows = read_rows(result.artifact(examples), "train")
    (held_out,) = result.artifacts(HeldOutProbabilities)
    judgements = rank_rows(held_out.read(), len(rows), "self_confidence", by_label=False)
    rankings = {
        "confident learning, out of fold": [judgement.row for judgement in judgements],
        "loss, out of fold": [judgement.row for judgement in sorted(judgements, key=by_score)],
        "loss, in sample": rank_in_sample(result.artifact(teacher), result.artifact(examples)),
    }
    is_planted = np.array([row in planted for row in rows])
    issues = [judgement.row for judgement in judgements if judgement.suggested]
    count = int(is_planted.sum())
    right = int(is_planted[issues].sum())
    print(
        f"{options.task}: {count} planted among {len(rows)} training rows, {options.folds} folds, seed {options.seed}"
    )
    print(f"likely wrong: {len(issues)} rows; precision {right / len(issues):.1%}, recall {right / count:.1%}\n")
    print("| ranking | precision at half | precision = recall at k | recall at 2 k | average precision |")
    print("|---|---:|---:|---:|---:|")
    for name, ranking in rankings.items():
        print(f"| {name} | {' | '.join(describe(is_planted[ranking], count))} |")


def by_score(judgement: RowJudgement) -> float:
    """The out-of-fold probability of the given label."""
    assert judgement.score is not None
    return judgement.score


def describe(ranked: np.ndarray, count: int) -> Sequence[str]:
    """Precision and recall of a ranking; k is the number of planted rows.

    Args:
        ranked: whether each row is planted, in the order of the ranking (rows,).
        count: number of planted rows.
    """
    hits = np.cumsum(ranked)
    average = (hits / np.arange(1, len(ranked) + 1))[ranked].mean()
    half = count // 2
    shares = (hits[half - 1] / half, hits[count - 1] / count, hits[2 * count - 1] / count, average)
    return [f"{share:.1%}" for share in shares]


def rank_in_sample(teacher: Model, examples: TaskExamples) -> list[int]:
    """The training rows by the probability that a model which learnt from them gives their labels."""
    task, rows = read_model(teacher), read_rows(examples, "train")
    logits, truth, *_ = TASK_SCORING["classification"].logits(task, rows)
    numbers = {label: number for number, label in enumerate(task.settings()["labels"])}
    scores = score_labels(np.array([numbers[label] for label in truth]), probabilities(logits))
    order: list[int] = np.argsort(scores, kind="stable").tolist()
    return order


def plant(options: argparse.Namespace, file: Path) -> set[TextRow]:
    """Writes some rows with planted labels, and returns those that have one."""
    table, chance = TABLES[options.task], random.Random(options.seed)
    distinct = {
        row.text.strip().casefold(): row for row in read_table(str(options.data / table.train), table.text, table.label)
    }
    rows = chance.sample(list(distinct.values()), options.rows)
    labels = sorted({row.label for row in rows})
    chosen = set(chance.sample(range(len(rows)), round(options.share * len(rows))))
    flipped = [
        row._replace(label=chance.choice([label for label in labels if label != row.label]))
        if number in chosen
        else row
        for number, row in enumerate(rows)
    ]
    lines = [(table.text, table.label), *(row[:2] for row in flipped)]
    file.write_text("".join(map(csv_line, lines)), encoding="utf-8")
    return {flipped[number] for number in chosen}


def make_settings(options: argparse.Namespace, table: LabelledTable, train: Path) -> Settings:
    """The settings of a user's job."""
    test = str(options.data / table.test)
    content = {
        "name": f"label_errors_{options.task}",
        "checkpoint": {"path": options.checkpoint},
        "max_length": 64,
        "examples": {
            "train": str(train),
            "validation": test,
            "test": test,
            "text": table.text,
            "label": table.label,
            "near_overlap": "keep",
        },
        "fine_tuning": {"epochs": table.epochs, "learning_rate": 1e-4, "validations": 2},
        "label_errors": {"folds": options.folds},
    }
    return Settings.model_validate_json(json.dumps(content))


if __name__ == "__main__":
    main()
