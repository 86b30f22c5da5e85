"""Compression of a task on rows in memory: distillation, pruning and quantization, as the pipeline's steps do them."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.digests import digest
from keras_bert.core.vector_codes import check_vectors, read_vector_columns
from keras_bert.data.array_batches import ArrayRows
from keras_bert.data.neighbouring_pairs import neighbouring_pairs
from keras_bert.data.schemas import TEACHER_ANSWERS, TEXT, compares_rows
from keras_bert.in_memory.fit import (
    ProgressBar,
    Rows,
    check_learnable,
    check_trainable,
    read_columns,
    read_rows,
    read_rows_with_answers,
    suggest_training,
)
from keras_bert.options.compression import Distillation, Imitation, Pruning, Student
from keras_bert.options.quantization import Quantization, RecipeName
from keras_bert.options.tables import DistillationSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Training, suggest_new_pairs
from keras_bert.recipes.distill import distill_student, distillation_objective
from keras_bert.recipes.fit import tune_task
from keras_bert.recipes.prune import prune_task
from keras_bert.recipes.quantize import quantize_task, start_quantization
from keras_bert.recipes.students import make_student
from keras_bert.recipes.texts import match_width
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import as_texts, check_keras
from keras_bert.tasks.embedding import Embedding
from keras_bert.training.new_head import has_drawn_head

# The learning rates of the pipeline's steps.
PRUNING_RATE, QUANTIZATION_RATE = 5e-5, 2e-5
# Settings of `Training` that choose the rows which measure ranges.
_USED_WITHOUT_TRAINING = {"batch_size", "accumulation", "seed"}


def distill(
    teacher: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    student: Student | None = None,
    probabilities: Any = None,
    vectors: Any = None,
    new_pairs: int | None = None,
    distillation: Distillation = Distillation(),
    imitation: Imitation = Imitation(),
    verbose: int = 1,
    **training: Any,
) -> Task:
    """Trains a smaller student on a teacher's answers.

    Args:
        teacher: a trained task with a Keras model, which stays as it is; with `probabilities` or `vectors` it may be
            untrained, as the student only starts from its layers.
        data: the arguments of `teacher.examples`. Of a classifier or a regression texts alone suffice, which the
            teacher labels; of an embedding or a retrieval also texts alone, with the prompt of passages. The student
            then learns the teacher's vectors, so that it can search among them. See `keras_bert.fit` for their types.
        pairs: the second text of each row.
        layers: indices, from 0, of the teacher's layers that the student keeps; set either `layers` or `student`.
        student: how the student differs from the teacher.
        probabilities: the answers of another teacher, such as a large language model, instead of those of `teacher`:
            probabilities of the labels (rows, labels), in the order of `teacher.labels` or in columns named as the
            labels; of a regression the numbers (rows,), of an embedding the cosines (rows,).
        vectors: for texts alone the vectors of another teacher, of any family and width: an array (texts, width), or a
            list with None for texts without a vector, which are left out; or a table of `predict --out`, whose space
            the student then has. A student whose vectors are not as wide gets a further dense layer.
        new_pairs: number of further rows for each first text, where the teacher labels texts and `pairs`, see
            `keras_bert.data.neighbouring_pairs.neighbouring_pairs`; None suits their number, 0 adds none.
        distillation: the temperature, and the share of the labels in the loss, which is 0 for texts alone.
        imitation: weights of further losses, on the hidden states and attentions of teacher and student.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`, such as `epochs`; defaults suit the rows and the teacher, see
            `keras_bert.fit`.

    Returns:
        The student.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, the teacher has no such layers, or it is an exported file.

    Examples:
        >>> small = distill(task, ["film film", "film"], student=Student(num_heads=1), epochs=1, verbose=0)
        >>> small.labels, small.encoder.count_params() < task.encoder.count_params()
        (('no', 'yes'), True)
    """
    check_keras(teacher, "distilled")
    is_one_set = (layers is None) != (student is None)
    check("distill", "layers", is_one_set, "be set, or else student", (layers, student))
    arguments, pairs = read_columns(teacher, data, pairs)
    shape = student or Student(layers=tuple(layers or ()))
    plan = suggest_training(teacher, len(arguments[0]), is_student=True, **{**shape.training, **training})
    if pairs is not None and len(arguments) == 1 and probabilities is None and teacher.learns_from_texts:
        if count := suggest_new_pairs(len(pairs)) if new_pairs is None else new_pairs:
            new_texts, new_seconds = neighbouring_pairs(arguments[0], pairs, count, plan.seed)
            arguments, pairs = [[*arguments[0], *new_texts]], [*pairs, *new_seconds]
    else:
        rule = "be left out for rows of single texts, and for rows with labels or answers"
        check("distill", "new_pairs", not new_pairs, rule, new_pairs)
    has_texts = _has_texts(teacher, arguments)
    if not has_texts:
        check_labels(teacher, arguments)
    rule = "be left out unless data are the texts of an embedding or a retrieval alone"
    if is_fitted_to_rows(teacher):
        rule = "be left out for a task with a table of labels, which have places among the teacher's own vectors"
    takes_vectors = has_texts and not teacher.tunes
    check("distill", "vectors", vectors is None or takes_vectors, rule, type(vectors).__name__)
    vectors, spaces = read_vector_columns(vectors)
    check("distill", "vectors", len(spaces) < 2, "be of one space", spaces)
    check("distill", "probabilities", probabilities is None or not has_texts, "be left out for texts alone", "some")
    rule = "be left out beside vectors, as its losses compare with `teacher`"
    check("distill", "imitation", vectors is None or not imitation.is_on, rule, "some")
    rows: Rows
    if has_texts:
        rows = _read_texts(teacher, arguments[0], vectors, is_taught=True)
    elif probabilities is None:
        rows, distillation = _read_rows(teacher, arguments, pairs, distillation)
    else:
        rows = read_rows_with_answers(teacher, arguments, pairs, probabilities)
    source, is_trained = _source_of(teacher, rows, plan), not has_drawn_head(teacher)
    with teacher._attached(teacher.adapter):
        small, copied = make_student(teacher, shape, source, plan, is_trained=is_trained)
        small = match_width(small, source, plan)
        if small.second_text == "optional":
            small.pairs = pairs is not None
        if small.label_name in rows:
            small.start_scale(rows[small.label_name], rows)
        settings = DistillationSettings(**vars(plan), **vars(distillation), **vars(imitation))
        objective = distillation_objective(teacher, small, source, settings)
        options = {"is_copied": copied > 0, "is_trained": is_trained}
        distill_student(teacher, small, objective, source, settings, ProgressBar(verbose), **options)
        small = shape.finish(small)
    if has_texts:
        of_vectors = [*spaces, digest([rows[TEACHER_ANSWERS].tobytes()])]
        small.space = teacher.space if vectors is None else of_vectors[0]
    elif is_fitted_to_rows(small):
        tune_task(small, *arguments)
    return small


def is_fitted_to_rows(task: Task) -> bool:
    """Whether a task has what is fitted to its own vectors, such as a table of labels: a student has another one."""
    return task.tunes and task.tuned_by == "train"


def check_labels(teacher: Task, columns: Sequence[Any]) -> None:
    """Refuses rows without labels of a teacher whose student has a table of labels that is fitted to these rows."""
    is_fitted = is_fitted_to_rows(teacher)
    lost = [label for label in teacher.labels if is_fitted and label not in columns[1]]
    rule = f"hold rows of {lost}, labels of the teacher that the student would not have"
    check("distill", "labels", not lost, f"{rule}: add such rows, or remove the labels from the teacher's table", ...)


def prune(
    task: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    pruning: Pruning = Pruning(),
    distillation: Distillation = Distillation(),
    verbose: int = 1,
    **training: Any,
) -> None:
    """Sets a model's smallest weights to zero, in place, while it trains on its own former answers.

    Tasks that share its encoder change, too. `pruning` sets the share and the pattern of the zeros; for the other
    arguments see `distill`. By default the training is one epoch at 5e-5. Weights that are zero already stay zero, and
    `keras_bert.fit` keeps the zeros; the calibration is dropped.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, or the model is an exported file or quantized.

    Examples:
        >>> prune(task, ["film film", "film"], batch_size=1, verbose=0)
        >>> kernel = task.model.get_layer("block_0").attention.query.kernel.numpy()
        >>> float((kernel == 0).mean())
        0.5
    """
    plan = check_float(task, "pruned", PRUNING_RATE, training)
    rows, distillation = _read_rows(task, data, pairs, distillation)
    source, network = _source_of(task, rows, plan), task.network()
    with task._attached(None), unchanged_if_failed(network) as teacher:
        settings = PruningSettings(**vars(plan), **vars(distillation), **vars(pruning))
        prune_task(task, teacher, source, settings, ProgressBar(verbose))


def quantize(
    task: Task,
    *data: Any,
    pairs: Sequence[str] | None = None,
    recipe: RecipeName = "mixed_wi8_ai8",
    post_training: bool = False,
    quantization: Quantization | None = None,
    distillation: Distillation = Distillation(),
    verbose: int = 1,
    **training: Any,
) -> None:
    """Quantizes a model in place, while it trains on its own former answers; `task.export` then writes integers.

    Zeros of a pruned model stay zero; its calibration is dropped. Tasks that share its encoder change, too. `recipe` is
    a key of `RECIPES`, the number formats, and `quantization` has further settings, in place of it. `post_training`
    measures ranges of activations, but trains nothing: it takes `batch_size`, `accumulation` and `seed` alone. For the
    other arguments see `distill`. By default one epoch is trained at 2e-5.

    Raises:
        TypeError: see `keras_bert.fit`.
        ValueError: a row or a setting is not valid, the recipe does not fit the model, or the model is an exported file
            or quantized.

    Examples:
        >>> quantize(task, ["film film", "film"], post_training=True)
        >>> task.quantization.recipe
        'mixed_wi8_ai8'
    """
    unused = sorted(training.keys() - _USED_WITHOUT_TRAINING) if post_training else []
    check("quantize", "post_training", not unused, f"be False for {', '.join(unused)}, as it trains nothing", True)
    plan = check_float(task, "quantized", QUANTIZATION_RATE, training)
    rows, distillation = _read_rows(task, data, pairs, distillation)
    chosen = {**vars(plan), **vars(distillation), **vars(quantization or Quantization(recipe=recipe))}
    settings = QuantizationSettings(**chosen, post_training=post_training)
    source, network = _source_of(task, rows, None if post_training else plan), task.network()
    with task._attached(None), unchanged_if_failed(network) as teacher:
        aware = start_quantization(task, source, settings)
        quantize_task(task, aware, teacher, source, settings, ProgressBar(verbose))


def check_float(task: Task, use: str, learning_rate: float, training: dict[str, Any]) -> Training:
    """Refuses a task that is an exported file, quantized or adapted; returns the settings of the training."""
    rule = f"be merged or dropped before a model is {use}: call task.merge_adapter() or task.drop_adapter()"
    check(type(task).__name__, "adapter", task.adapter is None, rule, task.adapter and task.adapter.adaptation.kind)
    check_trainable(task, use)
    return Training(**{"precision": "auto", "epochs": 1.0, "learning_rate": learning_rate, **training})


def _source_of(task: Task, rows: Rows, training: Training | None) -> ArrayRows:
    """The rows of a task; raises ValueError if a training compares rows and they have nothing to compare."""
    if isinstance(task, Embedding) and "second_token_ids" not in rows:
        return ArrayRows(TEXT, rows, task.max_length)
    if training is not None and compares_rows(task.name):
        check_learnable(task, rows, training)
    return ArrayRows(task.name, rows, task.max_length)


def _read_rows(
    task: Task, data: Sequence[Any], pairs: Sequence[str] | None, distillation: Distillation
) -> tuple[Rows, Distillation]:
    """Rows for training. Texts alone get the task's own answers as labels, whose share in the loss is 0."""
    data, pairs = read_columns(task, data, pairs)
    if _has_texts(task, data):
        return _read_texts(task, data[0]), distillation
    if len(data) != 1 or not task.learns_from_texts:
        return read_rows(task, data, pairs), distillation
    features = task.encode(data[0], pairs)
    labels = task.objective().labels_from(np.stack(task.forward(features)), features)
    return {**features, **labels}, dataclasses.replace(distillation, hard_weight=0.0)


def _has_texts(task: Task, data: Sequence[Any]) -> bool:
    """Whether the rows are texts alone of which an embedding or a retrieval learns the vectors."""
    return isinstance(task, Embedding) and len(data) == 1


def _read_texts(task: Task, texts: Sequence[str], vectors: Any = None, *, is_taught: bool = False) -> Rows:
    """The rows of texts with the prompt of passages; if they are taught, with the vectors of a teacher."""
    assert isinstance(task, Embedding)
    prompted = [task.prompts.passage + text for text in as_texts("texts", texts)]
    blank = next((row for row, text in enumerate(texts) if not text.strip()), None)
    check(type(task).__name__, f"texts[{blank}]", blank is None, "be a text that is not blank", "a blank one")
    rows = task.encode(prompted)
    if not is_taught:
        return rows
    given = task.predict(texts, prompt="passage") if vectors is None else vectors
    answers, is_given = check_vectors(type(task).__name__, given, len(prompted))
    return {**{name: array[is_given] for name, array in rows.items()}, TEACHER_ANSWERS: answers}


@contextlib.contextmanager
def unchanged_if_failed(network: keras.Model) -> Iterator[keras.Model]:
    """Yields a copy of a network, whose weights the network gets back if the block fails or is interrupted."""
    copy = keras.models.clone_model(network)
    copy.set_weights(network.get_weights())
    try:
        yield copy
    except BaseException:
        network.set_weights(copy.get_weights())
        raise
