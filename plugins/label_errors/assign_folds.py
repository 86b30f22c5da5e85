"""TaskExamples -> Folds: parts of the training rows, each to be judged by a model that learns from the others."""

from components.artifacts.standard import TaskExamples
from components.dsl.component import Input, Output, component
from components.examples.registry import TASK_ROWS, read_rows
from plugins.label_errors.artifacts import Folds
from plugins.label_errors.folds import assign_rows


@component(libraries=("numpy", "scipy"))
def assign_folds(
    examples: Input[TaskExamples], folds: Output[Folds], count: int = 5, seed: int = 0, near: bool = True
) -> None:
    """Deals the training rows to folds, see `assign_rows`.

    With `near`, rows with nearly the same texts stay together, besides those with the same ones.
    """
    numbers = assign_rows(read_rows(examples, "train"), TASK_ROWS[examples.features()["task"]], count, seed, near=near)
    folds.write(numbers)
    folds.counts = {"rows": len(numbers), "smallest_fold": min(map(numbers.count, range(count)))}
