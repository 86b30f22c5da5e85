"""Accuracy of fine-tuning on five public data sets, beside Hugging Face's loop and published figures.

    python -m benchmarks.task_accuracy --checkpoint FOLDER --data FOLDER --peers-python PATH [--tasks sst2 ...]

`--checkpoint` is all-MiniLM-L6-v2 in Hugging Face's format, `--data` holds the folders sst2 (GLUE), stsb, banking77,
wnut17 and squad; `--peers-python` is an interpreter with torch and transformers. This project runs
`keras-bert-edge compare --task` with several seeds; the peer trains with the same checkpoint, rows and settings.

Nothing is tuned on the test split. Tasks with a peer have no validation split: both sides train on all rows and keep
the last weights (`fine_tuning.keep = "last"`). The test rows then also serve as validation rows, which only choose the
seed of the pushed model; that choice affects no figure of this table.
The settings were fixed before any figure was seen; those of `sst2-electra` are Clark et al.'s (2020, ELECTRA, table 7)
for their small model: learning rate 3e-4, a layer-wise decay of 0.8, warm-up of a tenth.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import comparison_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal


class BenchmarkTask(NamedTuple):
    """One line of the table.

    Attributes:
        examples: the table `examples` of the settings, files relative to `--data`.
        training: the table `fine_tuning` of the settings, without the settings that all tasks share.
        peer: arguments of the peer's loop besides checkpoint, files and training; None without a peer.
        published: a published figure with its source.
        max_length: longest input in tokens.
    """

    examples: dict[str, str]
    training: dict[str, Any]
    peer: list[str] | None
    published: str = ""
    max_length: int = 128


SST2 = {"train": "sst2/train.tsv", "validation": "sst2/dev.tsv", "test": "sst2/dev.tsv", "text": "sentence"}
TASKS = {
    "sst2": BenchmarkTask(SST2, {"epochs": 1.0, "learning_rate": 5e-5}, [], "90.1 (Intel's MiniLM-L6)"),
    "sst2-electra": BenchmarkTask(SST2, {"epochs": 1.0, "learning_rate": 3e-4, "layer_decay": 0.8}, None),
    "stsb": BenchmarkTask(
        {
            "task": "regression",
            "train": "stsb/train.tsv",
            "validation": "stsb/dev.tsv",
            "test": "stsb/dev.tsv",
            "text": "sentence1",
            "second_text": "sentence2",
            "label": "score",
        },
        {"epochs": 4.0, "batch_size": 16, "learning_rate": 1e-4},
        ["--text", "sentence1", "--second-text", "sentence2", "--label", "score", "--regression"],
        "86.72 without training (cosine of its vectors)",
    ),
    "banking77": BenchmarkTask(
        {
            "train": "banking77/train.csv",
            "validation": "banking77/test.csv",
            "test": "banking77/test.csv",
            "text": "text",
            "label": "category",
        },
        {"epochs": 5.0, "learning_rate": 2e-4},
        ["--text", "text", "--label", "category"],
        "93.66 (BERT, Casanueva et al. 2020)",
    ),
    "wnut17": BenchmarkTask(
        {
            "task": "token_classification",
            "train": "wnut17/wnut17train.conll",
            "validation": "wnut17/emerging.dev.conll",
            "test": "wnut17/emerging.test.annotated",
        },
        {"epochs": 5.0, "batch_size": 16, "learning_rate": 1e-4},
        None,
        "41.86 (best of the shared task, Derczynski et al. 2017)",
    ),
    "squad": BenchmarkTask(
        {"task": "question_answering", "train": "squad/train-v1.1-part.json", "test": "squad/dev-v1.1.json"},
        {"epochs": 1.0, "batch_size": 16, "learning_rate": 1e-4},
        None,
        "82.1 (TinyBERT-4 on all of train, Jiao et al. 2020)",
        max_length=256,
    ),
}


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers-python", help="without it, only ours")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers-seeds", type=int, default=3)
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        rows = [row(name, options, options.root or Path(temporary)) for name in options.tasks]
    print("| task | metric | ours | min a seed | Hugging Face's loop | min a seed | elsewhere |")
    print("|---|---|---:|---:|---:|---:|---|", *rows, sep="\n")


def row(name: str, options: argparse.Namespace, root: Path) -> str:
    """Trains for a line of the table; minutes are those of this run, also where it goes on from a checkpoint."""
    task = TASKS[name]
    settings = make_settings(name, options)
    pipeline, outputs = comparison_pipeline(settings, {name: settings})
    result = run_pipeline(pipeline, root, observer=Terminal(Console(stderr=True)))
    if result.state != "done":
        raise SystemExit(result.message)
    metrics = result.artifact(outputs.tasks[name].evaluation).read()
    ours = metrics.models["teacher"].metrics[metrics.metric].seeds
    tuned = [step for step in result.steps if step.name.startswith("fine_tune") and step.state == "ran"]
    minutes = f"{sum(step.seconds for step in tuned) / 60 / len(tuned):.1f}" if tuned else "cached"
    cells = [name, metrics.metric, spread([100 * value for value in ours]), minutes]
    if task.peer is None or not options.peers_python:
        return f"| {' | '.join([*cells, '', '', task.published])} |"
    peer = train_peer(task, settings, options)
    scored = [spread([100 * one["score"] for one in peer]), f"{peer[0]['minutes']:.1f}"]
    return f"| {' | '.join([*cells, *scored, task.published])} |"


def make_settings(name: str, options: argparse.Namespace) -> Settings:
    """What the settings file of a user would say."""
    task = TASKS[name]
    split = ("train", "validation", "test")
    examples = {key: str(options.data / value) if key in split else value for key, value in task.examples.items()}
    alike = task.examples.get("validation") == task.examples["test"]
    classifies = task.examples.get("task", "classification") in ("classification", "regression")
    content = {
        "name": name,
        "checkpoint": {"path": str(options.checkpoint)},
        "seeds": options.seeds,
        "max_length": task.max_length,
        "fine_tuning": {
            "precision": "bfloat16",
            **({"keep": "last", "validations": 1} if alike else {"keep": "best", "validations": 5}),
            **task.training,
        },
        "examples": examples,
        **({"pooling": "cls"} if classifies else {}),
    }
    return Settings.model_validate_json(json.dumps(content))


def train_peer(task: BenchmarkTask, settings: Settings, options: argparse.Namespace) -> list[dict[str, float]]:
    """What the peer reports of each seed, trained as our settings say."""
    assert task.peer is not None
    seeds = [str(seed) for seed in range(options.peers_seeds)]
    training = settings.fine_tuning
    sizes = ["--epochs", str(training.epochs), "--batch-size", str(training.batch_size)]
    sizes += ["--learning-rate", str(training.learning_rate), "--max-length", str(settings.max_length)]
    files = [
        str(options.checkpoint),
        str(options.data / task.examples["train"]),
        str(options.data / task.examples["test"]),
    ]
    command = [options.peers_python, "benchmarks/peers/hugging_face_loop.py", *files, "--bfloat16", *sizes, *task.peer]
    done = subprocess.run([*command, "--seeds", *seeds], check=True, stdout=subprocess.PIPE, text=True)
    sys.stderr.write(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()]


def spread(values: list[float]) -> str:
    """Mean and sample standard deviation."""
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else f"{mean} (one seed)"


if __name__ == "__main__":
    main()
