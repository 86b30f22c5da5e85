"""What training on labelled rows begins and ends with, whatever the task."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from components.artifacts.task_examples import TaskExamples
from components.dsl.errors import InputError, nearest
from components.examples.registry import read_rows
from components.training.null_thresholds import tune_threshold
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.pooling import Pooling

if TYPE_CHECKING:
    import keras

    from keras_bert.tasks.base import Task
    from keras_bert.tokenizers.base import BaseTokenizer

logger = logging.getLogger(__name__)

ClassWeights = Literal["none", "balanced"] | dict[str, float]


def build_task(
    encoder: "keras.Model", tokenizer: "BaseTokenizer", description: Mapping[str, Any], pooling: Pooling
) -> "Task":
    """The task of examples on an encoder, with a new head.

    Args:
        encoder: its weights are shared.
        tokenizer: of the encoder.
        description: what `features.json` says.
        pooling: how the tokens' states become one vector, where the task needs one.

    Raises:
        InputError: the encoder has no place for the longest rows, or no pooler.
    """
    from keras_bert.tasks.registry import TASKS

    kind = TASKS[description["task"]]
    settings = {**description["settings"], **({"pooling": pooling} if kind.pools else {})}
    try:
        return kind.build(encoder, tokenizer, **settings)
    except ValueError as error:
        raise InputError(f"the encoder cannot learn {kind.name} from these rows: {error}") from None


def adapt(task: "Task", adaptation: Adaptation | None) -> dict[str, float]:
    """Freezes the encoder of a task, if few weights are to learn, and tells how many those are.

    Raises:
        InputError: the encoder has no place for the adaptation.
    """
    try:
        if adaptation is not None:
            task.adapt(adaptation)
    except ValueError as error:
        raise InputError(f"adaptation: {error}") from None
    if adaptation is None:
        return {}
    network = task.network()
    trained = sum(math.prod(weight.shape) for weight in network.trainable_variables)
    share = trained / network.count_params()
    logger.info("%s weights learn, %.2f %% of all", f"{trained:,}", 100 * share)
    return {"trained_parameters": trained, "trained_share": round(share, 6)}


def finish(task: "Task", examples: TaskExamples) -> None:
    """Finds on validation rows what is no weight of the model and yet learnt: when to give no answer."""
    from keras_bert.tasks.question_answering import QuestionAnswering

    if isinstance(task, QuestionAnswering) and task.null_threshold is not None:
        tune_threshold(task, read_rows(examples, "validation"))


def rows_to_finish(task: "Task", examples: TaskExamples) -> int:
    """How many rows `finish` will score."""
    from keras_bert.data.records import read_features

    asks = getattr(task, "null_threshold", None) is not None
    return int(read_features(examples.path)["counts"]["validation"]) if asks else 0


def find_class_weights(
    description: Mapping[str, Any], labels: Sequence[str], wanted: ClassWeights
) -> tuple[float, ...] | None:
    """How much the rows of each label weigh in the loss, None for all alike.

    Args:
        description: what `features.json` says, with the counts of the labels in training.
        labels: of the examples; none where the task has none.
        wanted: `balanced` as in `balanced_class_weights`; or label -> weight, 1 for those that are not named.

    Raises:
        InputError: the task has no labels, one is unknown, or a weight is not positive.
    """
    from keras_bert.objectives.class_weights import balanced_class_weights

    if wanted == "none":
        return None
    if not labels:
        raise InputError(f"class_weights must be 'none' for {description['task']}, which has no labels, got {wanted!r}")
    if isinstance(wanted, str):
        counts = description["labels"]["train"]
        return tuple(balanced_class_weights([counts.get(label, 0) for label in labels]))
    for label, weight in wanted.items():
        if label not in labels:
            raise InputError(f"class_weights has {label!r}, which is no label{nearest(label, list(labels)[:20])}")
        if not 0 < weight < float("inf"):
            raise InputError(f"class_weights.{label} must be positive and finite, got {weight}")
    return tuple(float(wanted.get(label, 1.0)) for label in labels)
