"""Fine-tuning for any task: what one training and a training of several seeds share."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from components.artifacts import Model, TaskExamples
from components.base import InputError, nearest
from components.model_folder import read_model
from components.null_thresholds import tune_threshold
from components.squad import Question
from components.task_rows import read_rows
from components.task_training import train_on_rows
from components.training_progress import forward_work, training_work
from components.workplace import ProgressSink, Stages
from keras_bert.config import Pooling, Training, check

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives import Objective
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.question_answering import QuestionAnswering
    from keras_bert.tokenizer import Tokenizer

ClassWeights = Literal["none", "balanced"] | dict[str, float]
Keep = Literal["best", "last"]

# What is held out decides by, while a model trains. Correlations, entities and answers are no sums over batches, and
# to decode them at every validation would cost more than they tell: the loss that is minimized stands for them.
SELECTED_BY = {
    "classification": "validation_accuracy",
    "regression": "validation_loss",
    "token_classification": "validation_loss",
    "question_answering": "validation_loss",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """Which weights of a training are kept, and when it stops; only the validation split has a say in it.

    Attributes:
        keep: `best`: those of the validation with the best accuracy, for tasks other than classification the lowest
            loss; `last`: those after the last step.
        validations: how often to validate, evenly spread over the training.
        patience: validations in a row without a better value after which training stops; None for never.
    """

    keep: Keep = "best"
    validations: int = 4
    patience: int | None = None

    def __post_init__(self) -> None:
        check("Selection", "keep", self.keep in get_args(Keep), f"be one of {get_args(Keep)}", self.keep)
        check("Selection", "validations", self.validations >= 1, "be at least 1", self.validations)
        if self.patience is not None:
            check("Selection", "patience", self.patience >= 1, "be at least 1", self.patience)
            rule = f"be left out where keep is {self.keep!r}"
            check("Selection", "patience", self.keep == "best", rule, self.patience)


def tune(
    pretrained: Model,
    examples: TaskExamples,
    *,
    pooling: Pooling,
    class_weights: ClassWeights,
    training: Training,
    selection: Selection,
    on_progress: ProgressSink,
) -> tuple["Task", list[dict[str, float]]]:
    """Trains the whole encoder with a new head on top; the same arguments give the same weights.

    Args:
        pretrained: a model with an encoder; its heads are dropped.
        examples: labelled rows of any task, made with the same vocabulary.
        pooling: of a classification or regression, see `build_classifier`.
        class_weights: see `find_class_weights`.
        training: how long and how to train.
        selection: which weights to keep.
        on_progress: see `TrainingProgress`; what is learnt after the training counts, too.

    Returns:
        The task and the history of its training. Where some questions have no answer, when to give none is found on
        the validation split, too.

    Raises:
        InputError: the checkpoint has no place for the examples' longest rows or no pooler, or the task has no such
            class weights.
    """
    from keras_bert.encoder import encoder_of
    from keras_bert.records import read_features
    from keras_bert.strategies import find_strategy
    from keras_bert.tokenizer import Tokenizer
    from keras_bert.trainer import make_deterministic

    make_deterministic(training.seed)
    strategy = find_strategy()
    features, labels = read_features(examples.path), task_labels(examples)
    objective = make_objective(features, labels, class_weights)
    tokenizer = Tokenizer.load(pretrained.path)
    with strategy.scope():
        encoder = encoder_of(read_model(pretrained)[0])
        task = _build(examples, features, labels, encoder, tokenizer, pooling)
        scored = features["counts"]["validation"] if _asked_for_no_answer(task) else 0
        works = training_work(features["counts"], training, selection.validations), forward_work(scored, training)
        stages = Stages(works, on_progress)
        history = train_on_rows(
            task.model,
            objective,
            examples,
            training,
            select=SELECTED_BY[task.name] if selection.keep == "best" else None,
            patience=selection.patience,
            validations=selection.validations,
            on_progress=stages.sink(0),
        )
    _finish(task, examples, stages.sink(1))
    return task, history


def task_labels(examples: TaskExamples) -> list[str]:
    """The labels of the examples, none where the task has none."""
    from keras_bert.records import LABELS_FILE, read_labels

    return read_labels(examples.path) if examples.file(LABELS_FILE).is_file() else []


def make_objective(features: Mapping[str, Any], labels: Sequence[str], class_weights: ClassWeights) -> "Objective":
    """What the training of a task minimizes.

    Args:
        features: what `features.json` says.
        labels: of the examples; none where the task has none.
        class_weights: see `find_class_weights`.

    Raises:
        InputError: the task has no such class weights.
    """
    from keras_bert.tasks import objectives

    weights = find_class_weights(features, labels, class_weights)
    match features["task"]:
        case "classification":
            return objectives.ClassificationObjective(weights)
        case "token_classification":
            return objectives.TokenClassificationObjective(weights)
        case "regression":
            return objectives.RegressionObjective()
    return objectives.QuestionAnsweringObjective()


def find_class_weights(
    features: Mapping[str, Any], labels: Sequence[str], wanted: ClassWeights
) -> tuple[float, ...] | None:
    """How much the rows of each label weigh in the loss, None for all alike.

    Args:
        features: what `features.json` says, with the counts of the labels in training.
        labels: of the examples; none where the task has none.
        wanted: `balanced` as in `balanced_class_weights`; or label -> weight, 1 for those that are not named.

    Raises:
        InputError: the task has no labels, one is unknown, or a weight is not positive.
    """
    from keras_bert.tasks.objectives import balanced_class_weights

    if wanted == "none":
        return None
    if not labels:
        raise InputError(f"class_weights must be 'none' for {features['task']}, which has no labels, got {wanted!r}")
    if isinstance(wanted, str):
        counts = features["labels"]["train"]
        return tuple(balanced_class_weights([counts.get(label, 0) for label in labels]))
    for label, weight in wanted.items():
        if label not in labels:
            raise InputError(f"class_weights has {label!r}, which is no label{nearest(label, list(labels)[:20])}")
        if not 0 < weight < float("inf"):
            raise InputError(f"class_weights.{label} must be positive and finite, got {weight}")
    return tuple(float(wanted.get(label, 1.0)) for label in labels)


def _build(
    examples: TaskExamples,
    features: Mapping[str, Any],
    labels: Sequence[str],
    encoder: "keras.Model",
    tokenizer: "Tokenizer",
    pooling: Pooling,
) -> "Task":
    """The task on an encoder, with a new head."""
    from keras_bert.tasks.classification import Classification
    from keras_bert.tasks.question_answering import QuestionAnswering
    from keras_bert.tasks.regression import Regression
    from keras_bert.tasks.token_classification import TokenClassification

    length = features["max_length"]
    try:
        match features["task"]:
            case "classification":
                return Classification.build(encoder, tokenizer, labels=labels, max_length=length, pooling=pooling)
            case "regression":
                return Regression.build(encoder, tokenizer, max_length=length, pooling=pooling)
            case "token_classification":
                return TokenClassification.build(encoder, tokenizer, labels=labels, max_length=length)
        return QuestionAnswering.build(
            encoder,
            tokenizer,
            max_length=length,
            stride=features["stride"],
            max_query_length=features["max_query_length"],
            null_threshold=_null_threshold(examples),
        )
    except ValueError as error:
        raise InputError(f"the checkpoint cannot learn {features['task']} from these rows: {error}") from None


def _null_threshold(examples: TaskExamples) -> float | None:
    """Whether `no answer` is one: only where training has questions without (SQuAD v2.0)."""
    return 0.0 if any(not row[-1] for row in read_rows(examples, "train")) else None


def _asked_for_no_answer(task: "Task") -> "QuestionAnswering | None":
    """The task, if it is one that may give no answer."""
    from keras_bert.tasks.question_answering import QuestionAnswering

    return task if isinstance(task, QuestionAnswering) and task.null_threshold is not None else None


def _finish(task: "Task", examples: TaskExamples, on_progress: ProgressSink) -> None:
    """Sets what is no weight of the model and yet learnt."""
    asked = _asked_for_no_answer(task)
    if asked:
        on_progress(0, 1, "finding when to give no answer")
        rows = read_rows(examples, "validation")
        tune_threshold(asked, [row for row in rows if isinstance(row, Question)])
