"""The start of a fine-tuning: a task on the encoder of another one, with its head if that fits."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from keras_bert.core.target_scale import TargetScale
from keras_bert.models.encoder import pooling_of_origin
from keras_bert.options.data import Pooling
from keras_bert.options.training import Contrast
from keras_bert.tasks.base import Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.registry import TASKS
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.reranking import Reranking

logger = logging.getLogger(__name__)


def retarget_task(
    initial: Task,
    name: str,
    settings: Mapping[str, Any],
    pooling: Pooling | None,
    contrast: Contrast | None = None,
    **vectors: Any,
) -> Task:
    """Builds a task on the encoder of an initial one, with the initial head if it fits the task.

    A head for the same labels is kept, and so are the heads of a question answerer and, for re-ranking, of a
    cross-encoder with one output. The log says which head was kept, or why it is new. The weights are shared, and the
    outputs of a kept head are sorted in the order of the new labels: the initial task cannot be used any more.

    `settings` and, of an embedding or a retrieval, `vectors` are arguments of the new task's `build`. `pooling` None is
    that of the initial task, or the mean if it has none. Raises ValueError if the encoder cannot have the head.
    """
    kind, encoder = TASKS[name], initial.encoder
    arguments = {**settings, **(vectors if issubclass(kind, Embedding) else {})}
    if kind.needs_pooling:
        arguments["pooling"] = pooling if pooling or pooling_of_origin(encoder) else "mean"
    if isinstance(initial, Embedding) and issubclass(kind, Embedding):
        arguments |= initial.declared_space()
    if contrast is not None:
        arguments["contrast"] = dataclasses.asdict(contrast)
    reason = _why_new_head(initial, kind, arguments)
    if issubclass(kind, Embedding):
        pass  # a model of vectors has no head, only the pooling and the projections of its encoder
    elif reason:
        logger.info("a new head for %s: %s", kind.name, reason)
    else:
        logger.info("the head of the initial model is kept, which is one for %s", initial.name)
    return kind.build(encoder, initial.tokenizer, **arguments) if reason else _keep_head(initial, kind, arguments)


def _why_new_head(initial: Task, kind: type[Task], settings: Mapping[str, Any]) -> str:
    """The reason why a task of this kind cannot keep the head of the initial task; empty if it can."""
    labels, initial_labels = settings.get("labels", []), list(initial.labels)
    if kind is Reranking and isinstance(initial, Regression):
        # Scores have no unit.
        reason = "" if initial.scale == TargetScale() else "the head of the initial model has the scale of its numbers"
    elif type(initial) is not kind:
        reason = f"the initial model is one for {initial.name}"
    elif issubclass(kind, Embedding) or not (labels or issubclass(kind, QuestionAnswering)):
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


def _keep_head(initial: Task, kind: type[Task], settings: Mapping[str, Any]) -> Task:
    """The initial task with the settings of the examples; the outputs of its head are sorted like the labels."""
    labels = settings.get("labels", [])
    if labels:
        order = [initial.labels.index(label) for label in labels]
        for weight in initial.model.get_layer("classifier").weights:
            weight.assign(weight.numpy()[..., order])
    activation = {"activation": initial.activation} if hasattr(initial, "activation") else {}
    kept_settings = {name: value for name, value in settings.items() if name not in ("pooling", *activation)}
    return kind.from_settings(initial.model, initial.tokenizer, {**kept_settings, **activation})
