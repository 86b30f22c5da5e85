"""Sentences a second of fine-tuning, ours and Hugging Face's loop with dynamic padding, in turn.

    python -m benchmarks.fine_tuning [JOB.toml] --peers-python PATH

PATH is a Python interpreter with torch and transformers, JOB a classification of single texts from a checkpoint in
Hugging Face's format (default: SST-2, `benchmarks/jobs/accuracy/sst2.toml`). Both train on batches of as many
sentences, with dropout, AdamW and clipping; ours are the batches and the step of the pipeline's `fine_tune`; the peer's
model runs eager and by `torch.compile`, which makes a graph for each multiple of 16 tokens, and its rows come in random
order or grouped by length. Every contestant is a process of its own, in each round for as many steps;
first ones, in which graphs are traced and compiled, do not count, nor does tokenizing. `benchmarks/jobs/accuracy` says
what both reach in whole trainings.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.contestants import Contestant, answer, questions, turns
from benchmarks.table import run
from components.artifacts.standard import TaskExamples
from components.sources.table import TableSource
from keras_bert.core.processor import usable_processors
from pipeline.job.files import load_settings
from pipeline.pipelines import pipeline_of, wire_start
from pipeline.settings.schema import Settings

JOB = Path(__file__).parent / "jobs" / "accuracy" / "sst2.toml"
PRECISIONS = ("float32", "bfloat16")
WARM_UP = 200
PEER_WARM_UP = 20
PEERS = {
    "Hugging Face, eager": (),
    "Hugging Face, eager, rows grouped by length": ("--grouped",),
    "Hugging Face, torch.compile, rows grouped by length": ("--compiled", "--grouped"),
}


def main() -> None:
    """Prints a table, or is one of the contestants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", nargs="?", type=Path, default=JOB)
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--serve", nargs=3, metavar=("MODEL", "EXAMPLES", "PRECISION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.batch_size, options.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(options.job)
        trained = prepare(settings, folder)
        ours = {precision: start(*trained, precision, options) for precision in options.precisions}
        calls: dict[str, Callable[[], float]] = {}
        for precision, contestant in ours.items():
            calls[f"ours, {precision}"] = partial(contestant.ask, "rate")
            for name, flags in PEERS.items():
                calls[f"{name}, {precision}"] = partial(time_peer, precision, flags, settings, options)
        rates_by_name = turns(calls, options.rounds, warm_up=0)
        for contestant in ours.values():
            contestant.stop()
    print_table(rates_by_name)


def prepare(settings: Settings, root: str) -> tuple[Path, Path]:
    """The folders of the checkpoint and of the rows."""
    begin, rows = wire_start(settings)
    result = run(settings, pipeline_of(settings.name, [begin.model, rows]), Path(root))
    return result.artifact(begin.model).path, result.artifact(rows).path


def start(model: Path, examples: Path, precision: str, options: argparse.Namespace) -> Contestant:
    """A process that trains on, a round at a time; it says hello when all lengths are compiled."""
    sizes = ["--batch-size", str(options.batch_size), "--steps", str(options.steps)]
    return Contestant(
        sys.executable, ["benchmarks.fine_tuning", "--serve", str(model), str(examples), precision, *sizes]
    )


def serve(trained: Sequence[Any], batch_size: int, steps: int) -> None:
    """Answers each question with the rate of so many steps; of a model, with rows, in a precision."""
    from keras_bert.data.records import read_labels
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.models.encoder import encoder_of
    from keras_bert.models.saving import load_model
    from keras_bert.objectives.tasks import ClassificationObjective
    from keras_bert.options.training import Training
    from keras_bert.tasks.classification import build_classifier
    from keras_bert.training.step import TrainingStep

    model_folder, rows_folder, precision = trained
    examples = TaskExamples(rows_folder)
    labels = read_labels(examples.path)
    model = build_classifier(encoder_of(load_model(Path(model_folder) / "model.keras")), len(labels))
    training = Training(batch_size=batch_size, precision=precision)
    step = TrainingStep(model, ClassificationObjective(), training, 10_000)
    batches = iter(RecordRows(examples.path).training_batches(training.micro_batch_size, training.seed).after(0))
    for number in range(WARM_UP):
        step.step([next(batches)], number + 1)
    answer("ready")
    for _ in questions():
        began, rows = time.perf_counter(), 0
        for number in range(steps):
            batch = next(batches)
            rows += len(batch["label"])
            _, norm = step.step([batch], WARM_UP + number)
            float(norm)
        answer(rows / (time.perf_counter() - began))


def time_peer(precision: str, mode: Sequence[str], settings: Settings, options: argparse.Namespace) -> float:
    """Sentences a second of a round of the peer."""
    source, checkpoint = settings.examples, settings.checkpoint
    assert isinstance(source, TableSource)
    assert checkpoint is not None
    files = [str(checkpoint.folder()), source.train, str(source.test)]
    command = [options.peers_python, "-m", "benchmarks.peers.hugging_face_loop", *files]
    flags = [*mode, *(["--bfloat16"] if precision == "bfloat16" else [])]
    # Epochs beyond the last step: few rows must not end the training before the steps that are timed.
    sizes = ["--batch-size", str(options.batch_size), "--max-steps", str(PEER_WARM_UP + options.steps)]
    sizes += ["--epochs", str(options.batch_size * (PEER_WARM_UP + options.steps))]
    sizes += ["--warm-up", str(PEER_WARM_UP), "--text", source.text, "--label", source.label]
    sizes += ["--threads", str(usable_processors())]  # as many as TensorFlow takes
    done = subprocess.run([*command, *sizes, *flags], check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout.splitlines()[-1])["sentences_per_second"])


def print_table(rates_by_name: dict[str, list[float]]) -> None:
    """Medians, and ours against the fastest peer."""
    medians = {name: statistics.median(rates) for name, rates in rates_by_name.items()}
    best = max(median for name, median in medians.items() if not name.startswith("ours"))
    print("| contestant | sentences/s, median (least, most) | against the peer's best |\n|---|---:|---:|")
    for name, rates in rates_by_name.items():
        print(f"| {name} | {medians[name]:.0f} ({min(rates):.0f}, {max(rates):.0f}) | {medians[name] / best:.2f} |")


if __name__ == "__main__":
    main()
