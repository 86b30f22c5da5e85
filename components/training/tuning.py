"""The beginning and the end of a training on labelled rows: its task, class weights, adaptation and tuning."""

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from components.artifacts.standard import TaskExamples
from components.dsl.errors import InputError, input_errors, nearest
from components.examples.registry import TASK_ROWS, read_rows
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.data import Pooling
from keras_bert.options.training import Contrast

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)

ClassWeights = Literal["none", "balanced"] | dict[str, float]


@dataclasses.dataclass(frozen=True)
class VectorSettings:
    """The settings of a new head that makes vectors of texts, see `build_task`."""

    pooling: Pooling | None = None
    contrast: Contrast | None = None
    normalize: bool | None = None


def build_task(
    initial: "Task",
    description: Mapping[str, Any],
    pooling: Pooling | None,
    contrast: Contrast | None = None,
    **vectors: Any,
) -> "Task":
    """Builds the task of the examples on an encoder, with the head of the initial task if it fits the task.

    A head for the same labels is kept, and so are the heads of a question answerer and, for re-ranking, of a
    cross-encoder with one output. The log says which head was kept, or why it is new. The weights are shared, and the
    outputs of a kept head are sorted in the order of the new labels: the initial task cannot be used any more.

    `pooling` None is the pooling of the initial task, or the mean if it has none; `vectors` are further settings of an
    embedding or a retrieval.
    """
    from keras_bert.models.encoder import pooling_of_origin
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.registry import TASKS

    kind, encoder = TASKS[description["task"]], initial.encoder
    settings = {**description["settings"], **(vectors if issubclass(kind, Embedding) else {})}
    if kind.needs_pooling:
        settings["pooling"] = pooling if pooling or pooling_of_origin(encoder) else "mean"
    if contrast is not None:
        settings["contrast"] = dataclasses.asdict(contrast)
    reason = _why_new_head(initial, kind, settings)
    if issubclass(kind, Embedding):
        pass  # a model of vectors has no head, only the pooling and the projections of its encoder
    elif reason:
        logger.info("a new head for %s: %s", kind.name, reason)
    else:
        logger.info("the head of the initial model is kept, which is one for %s", initial.name)
    with input_errors(f"the encoder cannot learn {kind.name} from these rows: "):
        return kind.build(encoder, initial.tokenizer, **settings) if reason else _keep_head(initial, kind, settings)


def _why_new_head(initial: "Task", kind: type["Task"], settings: Mapping[str, Any]) -> str:
    """The reason why a task of this kind cannot keep the head of the initial task; empty if it can."""
    from keras_bert.core.target_scale import TargetScale
    from keras_bert.tasks.question_answering import QuestionAnswering
    from keras_bert.tasks.regression import Regression
    from keras_bert.tasks.reranking import Reranking

    labels, initial_labels = settings.get("labels", []), list(initial.labels)
    if kind is Reranking and isinstance(initial, Regression):
        # Scores have no unit.
        reason = "" if initial.scale == TargetScale() else "the head of the initial model has the scale of its numbers"
    elif type(initial) is not kind:
        reason = f"the initial model is one for {initial.name}"
    elif not labels and not issubclass(kind, QuestionAnswering):
        reason = "numbers may have another unit than those of the initial model"
    else:
        is_same = sorted(labels) == sorted(initial_labels)
        reason = "" if is_same else f"the labels of the initial model are {initial_labels}, not {labels}"
    pooling, initial_pooling = settings.get("pooling"), initial.head().get("pooling")
    if not reason and initial.adapter is not None:
        reason = "the initial model has an adapter"
    elif not reason and pooling not in (None, initial_pooling):
        reason = f"pooling is {pooling!r}, and {initial_pooling!r} in the initial model"
    return reason


def _keep_head(initial: "Task", kind: type["Task"], settings: Mapping[str, Any]) -> "Task":
    """The initial task with the settings of the examples; the outputs of its head are sorted like the labels."""
    labels = settings.get("labels", [])
    if labels:
        order = [initial.labels.index(label) for label in labels]
        for weight in initial.model.get_layer("classifier").weights:
            weight.assign(weight.numpy()[..., order])
    activation = {"activation": initial.activation} if hasattr(initial, "activation") else {}
    kept_settings = {name: value for name, value in settings.items() if name not in ("pooling", *activation)}
    return kind.from_settings(initial.model, initial.tokenizer, {**kept_settings, **activation})


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
    """Tunes the settings of a trained task on validation rows, such as thresholds; see `Task.tune`."""
    from keras_bert.recipes.calibrate import tune_task as tune

    if task.tunes:
        tune(task, *TASK_ROWS[task.name].tuning_columns(read_rows(examples, "validation")))


def count_tuning_rows(task: "Task", examples: TaskExamples) -> int:
    """The number of rows that `tune_task` will score."""
    return int(examples.features()["counts"]["validation"]) if task.tunes else 0


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
