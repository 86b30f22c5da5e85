"""Accuracy, size and time of compressions: every recipe with and without training, pruning, students, vocabularies.

    python -m benchmarks.compression JOB.toml [--seeds 3] [--root FOLDER] [--cases NAME ...]

JOB has [examples], a [checkpoint] and a [student]; each case changes one setting and is compared, seed by seed, with
the case that has all other settings in common. The exported files are measured on test rows, which choose nothing.
Steps that cases share run once.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from benchmarks.task_accuracy import spread
from keras_bert.options.quantization import RECIPES
from pipeline.chains import Stage
from pipeline.job.files import load_settings
from pipeline.ladder.rungs import TEACHER, run_ladder
from pipeline.views.terminal import Terminal


class Case(NamedTuple):
    """One line of the table.

    Attributes:
        parts: what is made of the teacher.
        overrides: what is laid over the job.
        beside: the case that its score is compared with.
    """

    parts: tuple[Stage, ...]
    overrides: tuple[str, ...] = ()
    beside: str = "student"


PRUNING = ("pruning.epochs=2.0", "pruning.learning_rate=1e-4")
CASES = {
    TEACHER: Case((), beside=TEACHER),
    "student": Case(("student",), beside=TEACHER),
    **{
        f"{recipe}, {way}": Case(("student", "quantization"), (f'quantization.recipe="{recipe}"', *overrides))
        for recipe in RECIPES
        for way, overrides in (
            ("trained", ("quantization.epochs=1.0", "quantization.learning_rate=5e-5")),
            ("after training", ("quantization.post_training=true",)),
        )
        if RECIPES[recipe].integers or way == "after training"
    },
    "half of the weights zero": Case(("student", "pruning"), ("pruning.sparsity=0.5", *PRUNING)),
    "2 of 4 weights zero": Case(("student", "pruning"), ('pruning.pattern="2:4"', *PRUNING)),
    "half of the heads and units": Case(("student",), ("student.num_heads=6", "student.intermediate_size=768")),
    "pieces of the training rows alone": Case(("student",), ("fitted_vocabulary.min_count=1",)),
    "8,000 pieces": Case(("student",), ("fitted_vocabulary.size=8000",)),
}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        records = {name: measure(name, options, options.root or Path(temporary)) for name in options.cases}
    lengths = list(next(iter(records.values()))["milliseconds"])
    timed = " | ".join(f"ms, {length} tokens" for length in lengths)
    print(f"| | score | difference | MB | {timed} |\n|---|---:|---:|---:|{'---:|' * len(lengths)}")
    for name, record in records.items():
        print(line(name, record, records.get(CASES[name].beside)))


def measure(name: str, options: argparse.Namespace, root: Path) -> dict[str, Any]:
    """Runs a case and returns its record."""
    case = CASES[name]
    settings = load_settings(options.job, [f"seeds={options.seeds}", *case.overrides])
    record: dict[str, Any] = run_ladder(settings, {TEACHER: (), name: case.parts}, root, Terminal(Console(stderr=True)))
    rung: dict[str, Any] = record["rungs"][name]
    return rung


def line(name: str, record: dict[str, Any], beside: dict[str, Any] | None) -> str:
    """A row of the table."""
    scores, differences = [100 * score for score in record["score"]["seeds"]], ""
    if beside is not None and beside is not record:
        other = beside["score"]["seeds"]
        differences = spread([compressed - 100 * score for compressed, score in zip(scores, other, strict=True)])
        differences += f" from {CASES[name].beside}"
    timed = " | ".join(f"{value:.2f}" for value in record["milliseconds"].values())
    return f"| {name} | {spread(scores)} | {differences} | {record['megabytes']:.2f} | {timed} |"


if __name__ == "__main__":
    main()
