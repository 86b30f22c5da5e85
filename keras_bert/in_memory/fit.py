"""Trains and scores a task on rows in memory; the methods of a task and `keras_bert.distill` use this module."""

import inspect
import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import keras
import numpy as np

from keras_bert.core.checks import as_list, check
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.data.array_batches import ArrayBatches, ArrayRows
from keras_bert.data.schemas import list_feature
from keras_bert.models.encoder import config_of
from keras_bert.objectives.base import means
from keras_bert.options.compression import Distillation
from keras_bert.options.fine_tuning import StartHead
from keras_bert.options.tables import FineTuningSettings
from keras_bert.options.training import RETRIEVAL_RATE, Training, suggest_epochs, suggest_rates
from keras_bert.recipes.fit import fit_task, start_new_head, tune_task
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras, check_same_length, is_keras_model, is_missing, read_class_weights
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.training.history import History
from keras_bert.training.new_head import restored_head
from keras_bert.training.step import TrainingStep

# Parts of the rows of a cross-validation.
_FOLDS = 5

Array = np.ndarray[Any, Any]
Rows = Mapping[str, Array]


def fit(
    task: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    probabilities: Any = None,
    distillation: Distillation = Distillation(),
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    validation_split: float = 0.0,
    start_head: StartHead = "auto",
    verbose: int = 1,
    **training: Any,
) -> History:
    """Trains a task on rows in memory, as the pipeline's step `fine_tune` does on files.

    Args:
        task: a task with a Keras model, which is trained in place; it loses its calibration, and keeps the zeros of a
            pruned encoder. After an error it is as before, or has the best weights of `validation_split` so far.
        data: the arguments of `task.examples`, such as texts and labels: lists, NumPy arrays or pandas columns; or a
            single `tf.data.Dataset`, whose elements are rows of these arguments.
        pairs: the second text of each row, where the task takes one.
        probabilities: a teacher's answers, see `read_rows_with_answers`. The task learns from answers and labels, or
            from the answers alone where `data` has no labels or a label is None.
        distillation: the temperature, and the share of the label in the loss of rows with a label and an answer.
        class_weights: weights of the labels in the loss: numbers in the order of `task.labels`, or label -> number.
        validation_split: share of the rows, the last ones, that choose the weights to keep, and thresholds if the task
            has some, see `Task.tune`; 0 keeps the last weights.
        start_head: how a new head starts, see `keras_bert.training.new_head.fit_head`.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`, such as `epochs`, `batch_size`, `learning_rate` and `seed`; by default
            `precision` is `auto`, and the number of rows decides `epochs`, the width of the encoder `learning_rate`.

    Returns:
        The history: an entry has `step`, `loss`, the task's metrics, and `validation_...`, see `Trainer.fit`. Its
        attribute `history` has lists by name, as that of Keras' `History`.

    Raises:
        TypeError: a row has the wrong type, or there is no such setting.
        ValueError: a row or a setting is not valid, the rows have nothing to compare, or the model is an exported file
            or quantized.

    Examples:
        >>> history = fit(task, ["film film", "film"], ["yes", "no"], epochs=2, batch_size=1, verbose=0)
        >>> history[-1]["step"]
        4
    """
    check_trainable(task, "trained")
    check("fit", "start_head", start_head in get_args(StartHead), f"be one of {get_args(StartHead)}", start_head)
    arguments, pairs = read_columns(task, data, pairs)
    plan = suggest_training(task, len(arguments[0]), **training)
    if probabilities is None:
        rows = read_rows(task, arguments, pairs)
    else:
        rows = read_rows_with_answers(task, arguments, pairs, probabilities)
    learned, held_out, first = hold_out(task, rows, arguments, validation_split)
    for part in (learned, held_out) if validation_split else (learned,):
        check_learnable(task, part, plan)
    source = ArrayRows(task.name, learned, task.max_length, held_out if validation_split else None)
    if task.second_text == "optional":
        task.pairs = pairs is not None
    weights = read_class_weights(class_weights, task.labels)
    # An encoder may be shared with tasks that have other adapters.
    with restored_head(task) as before, task._attached(task.adapter):
        if task.label_name in rows:
            task.start_scale(learned[task.label_name], learned)
        epochs = plan.count_steps(source.count) * plan.batch_size / source.count
        settings = FineTuningSettings(
            **vars(plan),
            keep="best" if validation_split else "last",
            validations=max(1, round(epochs)),
            start_head=start_head,
        )
        head = start_new_head(task, source, settings, weights)
        if validation_split:
            before.clear()  # after an error the task has the best weights so far
        monitor, answers = ProgressBar(verbose, settings.validations), None if probabilities is None else distillation
        history = fit_task(task, head, source, settings, monitor, class_weights=weights, distillation=answers)
        if task.tunes and (validation_split or task.tuned_by == "train"):
            tuned = slice(first, None) if task.tuned_by == "validation" else slice(first)
            tune_task(task, *(column[tuned] for column in (*arguments, *([] if pairs is None else [pairs]))))
    return History(history)


def suggest_training(task: Task, rows: int, *, is_student: bool = False, **training: Any) -> Training:
    """The settings of a training on so many rows: those given, and suggested ones."""
    rate = suggest_rates(config_of(task.model).hidden_size)[is_student]
    if isinstance(task, Retrieval) and not is_student:
        rate = RETRIEVAL_RATE
    return Training(**{"precision": "auto", "epochs": suggest_epochs(rows), "learning_rate": rate, **training})


def hold_out(task: Task, rows: Rows, columns: Sequence[list[Any]], share: float) -> tuple[Rows, Rows, int]:
    """The rows without the last `share` of them, these, and their first number; the rows of a list stay together."""
    check("fit", "validation_split", 0 <= share < 1, "be at least 0 and below 1", share)
    # A text that is read in windows gives several rows, which stay together, too.
    count = len(rows["padding_mask"]) if task.truncates else len(columns[0])
    first, lists = count - round(share * count), rows.get(list_feature(task.name) or "")
    if share and lists is not None:
        starts = np.append(np.flatnonzero(np.diff(lists)) + 1, count)
        first = int(starts[np.abs(starts[:-1] - first).argmin() if len(starts) > 1 else 0])
    rule = f"leave rows on both sides of {count}{'' if lists is None else ', without a part of a query'}"
    check("fit", "validation_split", first > 0 and (first < count or not share), rule, share)
    parts = (np.s_[:first], np.s_[first:])
    if share and not task.truncates:
        learned, held_out = (read_rows(task, [column[part] for column in columns]) for part in parts)
    else:
        learned, held_out = ({name: array[part] for name, array in rows.items()} for part in parts)
    return learned, held_out, first


def check_learnable(task: Task, rows: Rows, training: Training) -> None:
    """Refuses rows without anything to learn, whose loss is 0 from the first step on."""
    kind, in_memory = type(task).__name__, "for rows in memory, which have no negatives"
    if list_name := list_feature(task.name):
        equal = (np.diff(rows[list_name]) != 0) | (np.diff(rows[task.label_name]) == 0)
        rule = "differ for the passages of a query, in training and in validation rows; add passages that do not answer"
        check(kind, "relevances", not equal.all(), rule, f"equal ones in {len(equal) + 1} rows")
    if isinstance(task, Retrieval):
        loss, across = task.contrast.loss, task.contrast.across_micro_batches
        check("Contrast", "loss", loss != "triplet", f"be 'multiple_negatives' {in_memory}", loss)
        rule = f"hold passages that answer different queries, in training and in validation rows, {in_memory}"
        groups = len(np.unique(rows["passage_group"]))
        check(kind, "others", groups > 1, rule, f"one group of passages in {len(rows['passage_group'])} rows")
        compared = training.batch_size if across else training.micro_batch_size
        check("Training", "batch_size", compared > 1, f"be at least 2 in each micro-batch {in_memory}", compared)


def check_trainable(task: Task, use: str) -> None:
    """Refuses a task whose weights are on a grid, or that shares weights which another task needs as they are.

    `use` is a participle for the errors.
    """
    check_keras(task, use)
    owner, attachments = type(task).__name__, task._attachments()
    rule = f"be None for a model that is {use}, as weights would leave their grid; load the float model"
    check(owner, "quantization", task.quantization is None, rule, task.quantization)
    # An adapter leaves the weights of the encoder as they are.
    if attachments is not None and task.adapter is None:
        others = [f"a quantized {other.name}" for other in attachments.quantized]
        others += ["an adapter"] * len(attachments.adapters())
        rule = f"not be shared with tasks that need its weights as they are to be {use}; load the checkpoint again"
        check(owner, "encoder", not others, rule, ", ".join(others))


class ProgressBar:
    """The `Monitor` of a notebook: a bar for each phase, unless `verbose` is 0."""

    def __init__(self, verbose: int, validations: int = 0) -> None:
        self._verbose, self.validations = verbose, validations

    def fit_options(self, step: TrainingStep, steps: Sequence[int], phase: int) -> dict[str, Any]:
        """See `Monitor`; nothing is stored."""
        bar = keras.utils.Progbar(step.steps, verbose=self._verbose)
        return {"on_progress": lambda done, *_: bar.update(done)}


def read_rows(task: Task, data: Sequence[Any], pairs: Sequence[str] | None = None) -> dict[str, Array]:
    """The rows of `Task.training_rows` for `read_columns`."""
    return task.training_rows(*data, **({} if pairs is None else {"pairs": pairs}))


def read_rows_with_answers(
    task: Task, data: Sequence[Any], pairs: Sequence[str] | None, probabilities: Any
) -> dict[str, Array]:
    """The rows of `read_rows`, or of texts without labels, with a teacher's answers.

    `data` and `pairs` are those of `read_columns`; a label is None, NaN or pandas' `NA` where there is none. A
    classifier's answers are the probabilities of the labels (rows, labels), an array in the order of `task.labels` or a
    table with columns named as the labels, a regression's the numbers (rows,), an embedding's the cosines (rows,); NaN
    where a row has a label, but no answer.
    """
    answers = task.objective().answers_from(np.asarray(_order_columns(task, probabilities), "float64"))
    count, width = len(data[0]), len(getattr(task, "labels", ())) or 1
    has_shape = len(answers) == count and answers.size == count * width
    rule = f"be {width} numbers for each of {count} rows"
    check(type(task).__name__, "probabilities", has_shape, rule, np.shape(probabilities))
    has_answers = np.isfinite(answers).reshape(count, -1).all(axis=1)
    answers = np.where(np.isfinite(answers), answers, np.float32(0))
    texts = data[: 2 if task.second_text == "compared" else 1]
    labels = data[len(texts)] if len(data) > len(texts) else [None] * count
    check_same_length("texts", texts[0], "labels", labels)
    has_label = np.array([not is_missing(label) for label in labels])
    rule, row = "be finite in all rows where there are no labels", int(np.argmin(has_answers | has_label))
    check(type(task).__name__, "probabilities", bool((has_answers | has_label).all()), rule, f"NaN in row {row}")
    if has_label.all():
        rows = read_rows(task, data, pairs)
    else:
        # A copy, of which labels may be a view: the labels of the rows replace some of them.
        rows = _read_answered(task, texts, pairs, answers.copy())
        if has_label.any():
            columns_with_label = [list(itertools.compress(column, has_label)) for column in (*texts, labels)]
            pairs_with_label = None if pairs is None else list(itertools.compress(pairs, has_label))
            labelled = read_rows(task, columns_with_label, pairs_with_label)
            rows[task.label_name][has_label] = labelled[task.label_name]
    return {
        **rows,
        "teacher_answers": answers,
        "has_answers": has_answers.astype("int32"),
        "has_label": has_label.astype("int32"),
    }


def _order_columns(task: Task, probabilities: Any) -> Any:
    """The columns of a table by their names, in the order of `task.labels`; other objects as they are."""
    names = getattr(probabilities, "column_names", getattr(probabilities, "columns", None))
    labels: Sequence[str] = getattr(task, "labels", ())
    if names is None or not labels:
        return probabilities
    columns = {str(name): probabilities[name] for name in names}
    rule = "have columns named as the labels; pass an array if its columns have the order of task.labels"
    check(type(task).__name__, "probabilities", sorted(columns) == sorted(labels), rule, list(columns))
    return np.stack([np.asarray(columns[label], "float64") for label in labels], axis=-1)


def _read_answered(task: Task, texts: Sequence[Any], pairs: Sequence[str] | None, answers: Array) -> dict[str, Array]:
    """The rows of texts without labels; the labels are made of a teacher's answers."""
    if task.second_text == "compared":
        return read_rows(task, [*texts, answers], pairs)
    features = task.encode(texts[0], pairs)
    return {**features, **task.objective().labels_from(answers, features)}


def evaluate(
    task: Task, *data: Any, pairs: Sequence[str] | None = None, batch_size: int = 64, baselines: bool = False
) -> dict[str, float]:
    """The loss and the metrics of a task on rows in memory; also of a task on an exported file.

    Args:
        task: any task with labels.
        data: see `fit`.
        pairs: see `fit`.
        batch_size: rows of a batch.
        baselines: of classifiers of texts and regressions, whether to score models without a language model, too.

    Returns:
        The means of the metrics that `fit` reports, by name; with `loss` for a Keras model. With `baselines` also
        `constant_...` for the most frequent label or the mean number, and `words_...` for a linear model of the words
        (TF-IDF); both learn from these rows in cross-validation, from four fifths of them at a time.

    Raises:
        TypeError: see `fit`.
        ValueError: a row is not valid, or there are no baselines for the task.

    Examples:
        >>> sorted(evaluate(task, ["film film", "film"], ["yes", "no"]))
        ['accuracy', 'loss']
    """
    columns, seconds = read_columns(task, data, pairs)
    objective, rows = task.objective(), read_rows(task, columns, seconds)
    texts = columns[0] if seconds is None else [" ".join(pair) for pair in zip(columns[0], seconds, strict=True)]
    further = _score_baselines(task, texts, rows) if baselines else {}
    is_file = not is_keras_model(task.model)
    model: Any = _FileModel(task.model) if is_file else task.network()
    with task._answering():
        batches = ArrayBatches(task.name, rows, batch_size, task.max_length)
        scores = means([objective(model, batch, training=False) for batch in batches.epoch()])
    return {**{name: score for name, score in scores.items() if not (is_file and name == "loss")}, **further}


def _score_baselines(task: Task, texts: Sequence[str], rows: Rows) -> dict[str, float]:
    from sklearn import dummy, linear_model
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline

    fits = task.learns_from_texts and len(texts) >= _FOLDS
    rule = f"be False for tasks without labels or numbers of texts, and for fewer than {_FOLDS} rows"
    check("evaluate", "baselines", fits, rule, f"True for {task.name} of {len(texts)} rows")
    constant: Any = dummy.DummyClassifier() if task.labels else dummy.DummyRegressor()
    linear = OneVsRestClassifier(linear_model.LogisticRegression()) if task.labels else linear_model.Ridge()
    scores: dict[str, float] = {}
    for name, estimator in (("constant", constant), ("words", linear)):
        model = make_pipeline(TfidfVectorizer(analyzer=str.split, sublinear_tf=True), estimator)
        folds = KFold(_FOLDS, shuffle=True, random_state=0)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of labels that a part has not
            answers = cross_val_predict(model, texts, rows[task.label_name], cv=folds)
        is_one = bool(task.labels) and not task.independent_labels
        numbers = np.eye(len(task.labels))[answers] if is_one else answers.reshape(len(texts), -1)
        # Logits of labels that are certainly given or not.
        outputs = 100 * (2 * numbers - 1) if task.labels else numbers
        sums = task.objective().scores(outputs.astype("float32"), rows)
        scores |= {f"{name}_{metric}": value for metric, value in means([sums]).items()}
    return scores


def read_columns(task: Task, data: Sequence[Any], pairs: Any) -> tuple[list[list[Any]], list[Any] | None]:
    """The arguments of `task.examples` as lists, of columns or of a `tf.data.Dataset` of rows; and the second texts."""
    if len(data) == 1 and hasattr(data[0], "as_numpy_iterator"):
        rows = [row if isinstance(row, tuple) else (row,) for row in data[0].as_numpy_iterator()]
        data = [[_to_python(value) for value in column] for column in zip(*rows, strict=True)]
    examples: Any = getattr(task, "examples", task.training_rows)
    given = inspect.signature(examples).bind_partial(*data, **({} if pairs is None else {"pairs": pairs})).arguments
    columns = {name: as_list(name, column) for name, column in given.items() if column is not None}
    seconds = columns.pop("pairs", None)
    return list(columns.values()), seconds


def _to_python(value: Any) -> Any:
    """Converts a value of a `tf.data.Dataset`: bytes to a string, an array to a list."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, tuple):
        return tuple(_to_python(item) for item in value)
    return [_to_python(item) for item in value] if isinstance(value, np.ndarray) and value.ndim else value


class _FileModel:
    """An exported file as a model that an objective runs."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.inputs = [keras.KerasTensor((None, None), "int32", name=name) for name in INPUT_NAMES]

    def __call__(self, inputs: dict[str, Any], training: bool) -> Any:
        outputs = self._runtime.predict_on_batch({name: np.asarray(value) for name, value in inputs.items()})
        return next(iter(outputs.values())) if isinstance(outputs, Mapping) else outputs
