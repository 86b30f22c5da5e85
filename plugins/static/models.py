"""Static models as embeddings, and how they learn a teacher's vectors."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, diags_array, vstack

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.data.schemas import TEACHER_ANSWERS, TEXT
from keras_bert.in_memory.compress import distill
from keras_bert.models.encoder import build_encoder, config_of
from keras_bert.objectives.vectors import VectorObjective
from keras_bert.recipes.texts import objective_for
from keras_bert.recipes.train import BatchedRows
from keras_bert.tasks.base import Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.training.trainer import validation_rows
from plugins.static.graph import unpack
from plugins.static.settings import Static, StaticStudent

Array = np.ndarray[Any, Any]

# Positions are only a limit of the length, as no layer depends on them.
POSITIONS = 8192
# The weight of a token before the training is a / (a + its share of all tokens) (Arora et al. 2017, equation 3).
_SMOOTHING = 1e-3
# Of the regression of token vectors on token embeddings: how often a token counts at most, and the penalty as a share
# of the mean square of the embeddings.
_MOST_COUNTED, _RIDGE = 50.0, 0.01
# Of the regression of texts' vectors on their tokens: the most texts, steps, and the penalty as a share of the sum of
# squares of a text's shares of tokens.
_MOST_SOLVED, _STEPS, _PENALTY = 200_000, 25, 0.15
# The share of the mean vector of all texts in that of each token: a text of unknown tokens has a direction, too.
_SHARE_OF_MEAN = 0.1


def build_static(
    table: Array,
    tokenizer: BaseTokenizer,
    *,
    weights: Array | None = None,
    ignored: Sequence[int] | None = None,
    max_length: int = 512,
    kind: type[Embedding] = Embedding,
    packed: bool = False,
    **settings: Any,
) -> Embedding:
    """An embedding whose vectors are means of token vectors.

    Args:
        table: the vector of each token (tokens, width).
        tokenizer: the tokenizer with these tokens.
        weights: the factor of each token's vector (tokens,); None for 1.
        ignored: the ids that have no part in the mean; None for all special tokens but the unknown one.
        max_length: the most tokens of a text, with the two special tokens around it.
        kind: the class of the task.
        packed: whether the table is one of `pack_static`.
        settings: arguments of `kind.build`, such as `normalize`, which is True by default, and `projections`.

    Raises:
        ValueError: the table or the weights do not have a row for each token.
    """
    rows = tokenizer.vocabulary_size
    check("build_static", "table", table.ndim == 2 and len(table) == rows, f"be ({rows}, width)", table.shape)
    weights = np.ones(rows, "float32") if weights is None else weights
    check("build_static", "weights", weights.shape == (rows,), f"be ({rows},), one for each token", weights.shape)
    if ignored is None:
        ignored = [number for number in tokenizer.special_ids if number != tokenizer.unknown_id]
    config = EncoderConfig(
        num_layers=1,
        hidden_size=table.shape[1] * (1 + packed),
        num_heads=1,
        intermediate_size=1,
        vocabulary_size=rows,
        max_length=POSITIONS,
        num_segments=0,
        dropout=0.0,
        variant=Static(ignored=tuple(sorted(map(int, ignored))), packed=packed),
    )
    encoder = build_encoder(config, pooler=False)
    encoder.get_layer("token_embedding").set_weights([table])
    encoder.get_layer("block_0").set_weights([weights])
    return kind.build(encoder, tokenizer, max_length=max_length, **settings)


def distill_static(
    teacher: Embedding,
    texts: Sequence[str],
    *,
    width: int | None = None,
    bits: Literal[4] | None = None,
    vectors: Any = None,
    **training: Any,
) -> Embedding:
    """A static model that learns a teacher's vectors of texts: `keras_bert.distill` with a `StaticStudent`.

    Args:
        teacher: an embedding or a retrieval, whose tokenizer and task the static model has; with `vectors` only those
            and the token embeddings are read.
        texts: texts without labels; they get the teacher's prompt of passages.
        width: see `StaticStudent`.
        bits: see `StaticStudent`.
        vectors: see `keras_bert.distill`.
        training: `verbose`, and settings of `Training`; by default an epoch of batches of 32 at 3e-4.

    Raises:
        ValueError: a vector or a setting is not valid, or the width is above that of the vectors.
    """
    task = distill(teacher, texts, student=StaticStudent(width=width, bits=bits), vectors=vectors, **training)
    assert isinstance(task, Embedding)
    return task


def start_static(teacher: Task, rows: BatchedRows, width: int | None) -> Embedding:
    """A static model before its training, with the tokenizer, the settings and the task of a teacher.

    The weight of a token falls with its frequency. With these weights the vectors of tokens solve the regression of the
    texts' vectors on their tokens, see `_solve`. They start as what a regression on the token embeddings of the
    teacher's encoder predicts of the mean of the vectors of the texts with a token, without the mean of all texts: so
    tokens that are in no text have vectors, too, like those of similar tokens (docs/log.md).

    Args:
        teacher: an embedding or a retrieval; of its model the token embeddings are read.
        rows: texts with the vectors that are to be learnt.
        width: see `StaticStudent`.

    Raises:
        ValueError: the rows have no vectors of texts, or the width is above that of the vectors.
    """
    rule = "be texts with the vectors of a teacher, which are all that a static model learns"
    check("StaticStudent", "rows", rows.task == TEXT and rows.has_answers, rule, f"those of {rows.task}")
    assert isinstance(teacher, Embedding)
    size, special = teacher.tokenizer.vocabulary_size, teacher.tokenizer.special_ids
    objective = objective_for(teacher, rows)
    assert isinstance(objective, VectorObjective)
    counts: Any = np.zeros(size)
    sums: Any = 0.0
    total: Any = 0.0
    products: Any = 0.0
    bags: list[Any] = []
    answers: list[Array] = []
    count = 0
    for batch in rows.training_batches(validation_rows(rows.max_length), 0).epoch():
        vectors, ids = np.asarray(batch[TEACHER_ANSWERS], "float64"), np.asarray(batch["token_ids"])
        if not objective.keeps_lengths:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        row, place = np.nonzero(np.asarray(batch["padding_mask"]) * ~np.isin(ids, special))
        tokens = ids[row, place]
        bag = coo_array((np.ones(len(row), "float32"), (row, tokens)), (len(ids), size)).tocsr()
        count += len(ids)
        if count <= _MOST_SOLVED:
            bags.append(bag)
            answers.append(vectors.astype("float32"))
        sums = sums + bag.T @ vectors
        counts, total = counts + np.bincount(tokens, minlength=size), total + vectors.sum(axis=0)
        products = products + vectors.T @ vectors
    full, mean = len(total), total / rows.count
    width = full if width is None else width
    check("StaticStudent", "width", width <= full, f"be at most {full}, the width of the vectors", width)
    pieces: Any = token_vectors(teacher).astype("float64")
    table = _regress(pieces - pieces.mean(axis=0), sums - counts[:, None] * mean, counts) + _SHARE_OF_MEAN * mean
    weights = (_SMOOTHING / (_SMOOTHING + counts / max(1, counts.sum()))).astype("float32")
    axes = np.eye(full) if width == full else np.linalg.eigh(products)[1][:, -width:]
    settings = {**_settings_without_contrast(teacher), "kind": type(teacher)}
    targets, start = np.concatenate(answers) @ axes.astype("float32"), (table @ axes).astype("float32")
    table = _solve(vstack(bags), weights, targets, start, keeps_lengths=objective.keeps_lengths)
    task = build_static(table, teacher.tokenizer, weights=weights, **settings)
    return _with_contrast(task.projected(axes.T.astype("float32")) if width < full else task, teacher)


def pack_static(task: Embedding) -> Embedding:
    """The static model with token vectors of four bits: whole numbers from -7 to 7 with a step a token.

    Two of them are a byte, and steps become part of the token weights. The bytes are not trained; their table has the
    bytes -128 and 127 in rows of ignored tokens, so that a grid of eight bits over its range has steps of 1. A recipe
    that rounds all activations would round the bytes, too: `quantize` such a model by one that does not.
    """
    variant, head = config_of(task.model).variant, task.head()
    assert isinstance(variant, Static)
    table, weights = token_vectors(task), np.asarray(task.model.get_layer("block_0").token_weights)
    steps = np.maximum(np.abs(table).max(axis=1), 1e-12) / 7
    numbers = np.rint(table / steps[:, None]) + 8
    half = table.shape[1] // 2
    packed = 16 * numbers[:, :half] + numbers[:, half:] - 128
    packed[list(variant.ignored[:2]), 0] = -128, 127
    made = build_static(
        packed,
        task.tokenizer,
        weights=weights * steps,
        ignored=variant.ignored,
        packed=True,
        kind=type(task),
        **_settings_without_contrast(task),
    )
    for layer in task.model.get_layer("projections").dense if head.get("projections") else ():
        made = made.projected(np.asarray(layer.kernel))
    return _with_contrast(made, task)


def _settings_without_contrast(task: Embedding) -> dict[str, Any]:
    """The settings of a task for a table, which may be narrower than the truncated vectors of the contrast."""
    return {name: value for name, value in task.settings().items() if name != "contrast"}


def _with_contrast(task: Embedding, source: Embedding) -> Embedding:
    """A task with the contrast of another one, whose truncated vectors are not wider than those of the task."""
    if isinstance(task, Retrieval) and isinstance(source, Retrieval):
        width = int(task.model.output["embedding"].shape[-1])
        dimensions = tuple(dimension for dimension in source.contrast.dimensions if dimension <= width)
        task.contrast = dataclasses.replace(source.contrast, dimensions=dimensions)
    return task


def token_vectors(task: Any) -> Array:
    """The token vectors of a model (tokens, columns), without the weights of a static one; whole numbers if packed."""
    variant = config_of(task.model).variant
    table = np.asarray(task.model.get_layer("token_embedding").matrix(), "float32")
    return np.asarray(unpack(table)) if isinstance(variant, Static) and variant.packed else table


def is_linear(task: Embedding) -> bool:
    """Whether vectors are means of the token vectors of a static model, perhaps times matrices."""
    head = task.head()
    is_matrix = [layer["activation"] == "none" and not layer["use_bias"] for layer in head.get("projections", [])]
    return isinstance(config_of(task.model).variant, Static) and head["pooling"] == "mean" and all(is_matrix)


def _solve(bags: Any, weights: Array, vectors: Array, start: Array, *, keeps_lengths: bool) -> Array:
    """The token vectors (tokens, width) whose weighted means over texts are nearest to the texts' vectors.

    A ridge regression towards `start` by conjugate gradients of all columns at once, whose few steps are a part of the
    penalty. Without lengths the mean of each text is first divided by its length at the start.

    Args:
        bags: how often each text has each token (texts, tokens), sparse.
        weights: the weights of the tokens (tokens,).
        vectors: the vectors of the texts (texts, width), of length 1 where lengths do not count.
        start: token vectors (tokens, width).
        keeps_lengths: whether vectors are compared with their lengths.
    """
    means = diags_array(1 / np.maximum(bags.sum(axis=1), 1).astype("float32")) @ bags @ diags_array(weights)
    if not keeps_lengths:
        means = diags_array(1 / np.maximum(np.linalg.norm(means @ start, axis=1), 1e-6)) @ means
    penalty = max(_PENALTY * means.power(2).sum() / len(vectors), 1e-9)
    table = np.zeros_like(start)
    residual = means.T @ (vectors - means @ start)
    direction, squared_norm = residual, np.square(residual).sum(axis=0)
    for _ in range(_STEPS):
        product = means.T @ (means @ direction) + penalty * direction
        step = squared_norm / np.maximum((direction * product).sum(axis=0), 1e-12)
        table, residual, before = table + step * direction, residual - step * product, squared_norm
        squared_norm = np.square(residual).sum(axis=0)
        direction = residual + squared_norm / np.maximum(before, 1e-12) * direction
    return np.asarray(start + table, "float32")


def _regress(pieces: Array, sums: Array, counts: Array) -> Array:
    """What a ridge regression on token embeddings (tokens, size) predicts of `sums` / `counts` (tokens, width).

    A token counts as often as it is in the texts, up to a limit.
    """
    shares = np.minimum(counts, _MOST_COUNTED) / np.maximum(counts, 1.0)
    weighted = pieces * np.minimum(counts, _MOST_COUNTED)[:, None]
    gram = weighted.T @ pieces
    penalty = max(_RIDGE * np.trace(gram) / len(gram), 1e-9)
    return pieces @ np.linalg.solve(gram + penalty * np.eye(len(gram)), pieces.T @ (shares[:, None] * sums))
