"""Adapters against full fine-tuning: accuracy over seeds, time and memory of a step, megabytes of the trained weights.

    python -m benchmarks.adaptation --checkpoint FOLDER --train FILE.tsv --test FILE.tsv [--rows 6000] [--root FOLDER]

FOLDER is a BERT in Hugging Face's format, the files are tables with the columns sentence and label. Each method trains
on the first rows and chooses its weights on a tenth of them; the test file is read after all trainings. The learning
rates were fixed before the first result: adapters need higher ones. A batch has 32 rows of 64 tokens; each method runs
in a process of its own.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from benchmarks.harness.processes import watch
from benchmarks.task_accuracy import spread
from components.dsl.artifact import Artifact
from keras_bert.options.adaptation import Adaptation, read_adaptation
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import comparison_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal

# Name -> the table `adaptation`, and the peak of the learning rate.
WAYS: dict[str, tuple[dict[str, Any] | None, float]] = {
    "all weights": (None, 1e-4),
    "LoRA, rank 8": ({"kind": "lora", "rank": 8}, 2e-3),
    "LoRA, rank 8, all products": (
        {"kind": "lora", "layers": ["query", "key", "value", "output_projection", "intermediate"]},
        1e-3,
    ),
    "adapters of 64": ({"kind": "adapters", "size": 64}, 1e-3),
    "prompt of 20": ({"kind": "prompt", "tokens": 20}, 1e-2),
    "biases": ({"kind": "bias"}, 2e-3),
}
STEPS = 12


def main() -> None:
    """Prints a table, or is one of the measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.checkpoint, options.measure)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        table = first_rows(options.train, options.rows, Path(temporary))
        root = options.root or Path(temporary) / "root"
        rows = [row(name, options, table, root) for name in options.ways]
    print("| trained weights | share | accuracy, mean ± sd | ms a step | peak MB | MB to keep |")
    print("|---|---:|---:|---:|---:|---:|", *rows, sep="\n")


def first_rows(train: Path, rows: int, folder: Path) -> Path:
    """A table of the first so many."""
    lines = train.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "train.tsv").write_text("".join(lines[: rows + 1]), encoding="utf-8")
    return folder / "train.tsv"


def row(name: str, options: argparse.Namespace, table: Path, root: Path) -> str:
    """Trains and measures one way."""
    settings = make_settings(name, options, table)
    pipeline, outputs = comparison_pipeline(settings, {"task": settings})
    result = run_pipeline(pipeline, root, observer=Terminal(Console(stderr=True)))
    if result.state != "done":
        raise SystemExit(result.message)
    metrics = result.artifact(outputs.tasks["task"].evaluation).read()
    accuracies = [100 * value for value in metrics.models["teacher"].metrics["accuracy"].seeds]
    tuned = result.artifact(outputs.tasks["task"].models[0])
    share = tuned.manifest()["counts"].get("trained_share", 1.0)
    watched = watch("benchmarks.adaptation", ["--checkpoint", str(options.checkpoint), "--measure", name])
    cells = [name, f"{100 * share:.2f} %", spread(accuracies), f"{watched.answer['ms']:.0f}", f"{watched.peak:.0f}"]
    return f"| {' | '.join([*cells, f'{kept(tuned):.1f}'])} |"


def kept(model: Artifact) -> float:
    """Megabytes of what a task needs beside the checkpoint: its adapter, or the whole model."""
    folder = model.file("adapter")
    files = list(folder.iterdir()) if folder.is_dir() else [model.file("model.keras")]
    return sum(file.stat().st_size for file in files) / 1e6


def make_settings(name: str, options: argparse.Namespace, table: Path) -> Settings:
    """The settings file of a user."""
    adaptation, rate = WAYS[name]
    content = {
        "name": "adaptation",
        "checkpoint": {"path": str(options.checkpoint)},
        "seeds": options.seeds,
        "max_length": 64,
        "fine_tuning": {"epochs": options.epochs, "learning_rate": rate},
        "examples": {"train": str(table), "test": str(options.test), "text": "sentence"},
        **({} if adaptation is None else {"adaptation": adaptation}),
    }
    return Settings.model_validate_json(json.dumps(content))


def measure(checkpoint: Path, name: str) -> dict[str, float]:
    """Milliseconds of a step, the median of some; the memory is looked at from outside."""
    import numpy as np

    from keras_bert.interop.hugging_face import from_hugging_face
    from keras_bert.options.training import Training
    from keras_bert.tasks.classification import Classification
    from keras_bert.training.trainer import Trainer

    base = from_hugging_face(checkpoint)
    task = Classification.build(base.encoder, base.tokenizer, labels=["no", "yes"], max_length=64, pooling="mean")
    del base
    adaptation, _ = WAYS[name]
    if adaptation is not None:
        task.adapt(read_adaptation(adaptation))
    trainer = Trainer(task.network(), task.objective(), Training(), 1000)
    rng = np.random.default_rng(0)
    ids = rng.integers(1000, task.tokenizer.vocabulary_size, (32, 64)).astype("int32")
    batch = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1, "label": ids[:, 0] % 2}
    seconds = []
    for number in range(STEPS):
        began = time.perf_counter()
        _, norm = trainer.step([batch], number + 1)
        float(norm)
        seconds.append(time.perf_counter() - began)
    return {"ms": 1000 * statistics.median(seconds[3:])}


assert {type(read_adaptation(way)) for way, _ in WAYS.values() if way} == set(get_args(get_args(Adaptation)[0]))

if __name__ == "__main__":
    main()
