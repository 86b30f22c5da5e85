"""Which parts of a teacher count, with a task and before one."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_bert.compress.students import Importance
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task

# A teacher and some batches -> the importance of the parts of each of its blocks.
Measure = Callable[["Task", "list[Batch]"], "list[Importance]"]


def by_task(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """What the loss of its task says."""
    from keras_bert.compress.importance import measure_importance

    return measure_importance(teacher.network(), teacher.objective(), rows)


def by_states(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """What its final states say, before there is a task."""
    from keras_bert.compress.importance import measure_importance
    from keras_bert.compress.probes import RandomProbes

    probes = RandomProbes(teacher.encoder)
    return measure_importance(probes.network, probes, rows)
