"""The importance of a teacher's heads and units, with a task and before one."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_bert.compress.students import Importance
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task

# A teacher and some batches -> the importance of the heads and units of each block.
Measure = Callable[["Task", "list[Batch]"], "list[Importance]"]


def measure_by_loss(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """The importance for the loss of the teacher's task."""
    from keras_bert.compress.importance import measure_importance

    return measure_importance(teacher.network(), teacher.objective(), rows)


def measure_by_states(teacher: "Task", rows: "list[Batch]") -> "list[Importance]":
    """The importance for the teacher's final states, before there is a task."""
    from keras_bert.compress.importance import measure_importance
    from keras_bert.compress.probes import RandomProbes

    probes = RandomProbes(teacher.encoder)
    return measure_importance(probes.network, probes, rows)
