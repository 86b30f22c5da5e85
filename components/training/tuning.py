"""The beginning and the end of a training on labelled rows: its task, class weights, adaptation and tuning."""

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.standard import TaskExamples
from components.dsl.errors import InputError, input_errors, nearest
from components.examples.registry import TASK_ROWS, read_rows
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.data import Pooling
from keras_bert.options.tables import ClassWeights
from keras_bert.options.training import Contrast

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class HeadSettings:
    """The settings of a new head.

    Attributes:
        pooling: how the states of the tokens become one vector, for a task that needs one; None for the pooling of the
            pre-trained model, or for the mean if it has none.
        contrast: the settings of the loss of retrieval, which the model keeps for its students; None for the defaults,
            and for other tasks.
        normalize: whether the vectors of an embedding or a retrieval have length 1; None keeps the setting of the
            pre-trained model, or is True if that model makes no vectors.
    """

    pooling: Pooling | None = None
    contrast: Contrast | None = None
    normalize: bool | None = None


def build_task(
    initial: "Task", description: Mapping[str, Any], head: HeadSettings = HeadSettings(), **vectors: Any
) -> "Task":
    """The task of the examples on an encoder, see `retarget_task`."""
    from keras_bert.recipes.retarget import retarget_task

    name, vectors = description["task"], {"normalize": head.normalize, **vectors}
    with input_errors(f"the encoder cannot learn {name} from these rows: "):
        return retarget_task(initial, name, description["settings"], head.pooling, head.contrast, **vectors)


def apply_adaptation(task: "Task", adaptation: Adaptation | None) -> dict[str, float]:
    """Adds an adapter to a task and freezes its encoder; returns the number and the share of the trainable weights.

    Without an adaptation all weights train, and the result is empty.
    """
    with input_errors("adaptation: "):
        if adaptation is not None:
            task.adapt(adaptation)
    if adaptation is None:
        return {}
    network = task.network()
    trained = sum(math.prod(weight.shape) for weight in network.trainable_variables)
    share = trained / network.count_params()
    logger.info("%s weights learn, %.2f %% of all", f"{trained:,}", 100 * share)
    return {"trained_parameters": trained, "trained_share": round(share, 6)}


def tune_task(task: "Task", examples: TaskExamples) -> None:
    """Tunes the settings of a trained task, such as thresholds, on rows of `Task.tuned_by`; see `Task.tune`."""
    from keras_bert.recipes.fit import tune_task as tune

    if task.tunes:
        tune(task, *TASK_ROWS[task.name].tuning_columns(read_rows(examples, task.tuned_by)))


def count_tuning_rows(task: "Task", examples: TaskExamples) -> int:
    """The number of rows that `tune_task` will score."""
    return int(examples.features()["counts"][task.tuned_by]) if task.tunes else 0


def find_class_weights(
    description: Mapping[str, Any], labels: Sequence[str], class_weights: ClassWeights
) -> tuple[float, ...] | None:
    """The weight of each label in the loss; None for equal weights.

    `class_weights` are `none`, `balanced` as in `TaskRows.balanced_weights`, or label -> weight, 1 for all other
    labels.
    """
    check_class_weights(description["task"], labels, class_weights)
    if class_weights == "none":
        return None
    if isinstance(class_weights, str):
        counts = description["labels"]["train"]
        rows = TASK_ROWS[description["task"]]
        number = description["rows"]["train"]
        return tuple(rows.balanced_weights([counts.get(label, 0) for label in labels], number))
    return tuple(float(class_weights.get(label, 1.0)) for label in labels)


def check_class_weights(task: str, labels: Sequence[str], class_weights: ClassWeights) -> None:
    """Checks class weights against the labels of the training rows."""
    if class_weights == "none":
        return
    if not labels:
        raise InputError(f"class_weights must be 'none' for {task}, which has no labels, got {class_weights!r}")
    for label, weight in class_weights.items() if isinstance(class_weights, dict) else ():
        if label not in labels:
            raise InputError(f"class_weights has {label!r}, which is not a label{nearest(label, labels)}")
        if not 0 < weight < float("inf"):
            raise InputError(f"class_weights.{label} must be positive and finite, got {weight}")
