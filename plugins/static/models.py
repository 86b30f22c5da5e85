"""Static models as embeddings, and how they learn a teacher's vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.vector_codes import check_vectors
from keras_bert.data.array_batches import ArrayRows
from keras_bert.data.schemas import TEACHER_ANSWERS, TEXT
from keras_bert.in_memory.fit import ProgressBar
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.compression import Distillation
from keras_bert.options.training import Training
from keras_bert.recipes.texts import objective_for
from keras_bert.recipes.train import train
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.base import BaseTokenizer
from plugins.static.settings import Static

Array = np.ndarray[Any, Any]

# Positions are only a limit of the length, as no layer depends on them.
POSITIONS = 8192
# The weight of a token before the training is a / (a + its share of all tokens) (Arora et al. 2017, equation 3).
_SMOOTHING = 1e-3
# The share of the mean vector of all texts in that of each token: a text of unknown tokens has a direction, too.
_SHARE_OF_MEAN = 0.1


def build_static(
    table: Array,
    tokenizer: BaseTokenizer,
    *,
    weights: Array | None = None,
    ignored: Sequence[int] | None = None,
    max_length: int = 512,
    **settings: Any,
) -> Embedding:
    """An embedding whose vectors are means of token vectors.

    Args:
        table: the vector of each token (tokens, width).
        tokenizer: the tokenizer with these tokens.
        weights: the factor of each token's vector (tokens,); None for 1.
        ignored: the ids that have no part in the mean; None for all special tokens but the unknown one.
        max_length: the most tokens of a text, with the two special tokens around it.
        settings: arguments of `Embedding.build`, such as `normalize`, which is True by default, and `projections`.

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
        hidden_size=table.shape[1],
        num_heads=1,
        intermediate_size=1,
        vocabulary_size=rows,
        max_length=POSITIONS,
        num_segments=0,
        dropout=0.0,
        variant=Static(ignored=tuple(sorted(map(int, ignored)))),
    )
    encoder = build_encoder(config, pooler=False)
    encoder.get_layer("token_embedding").set_weights([table])
    encoder.get_layer("block_0").set_weights([weights])
    return Embedding.build(encoder, tokenizer, max_length=max_length, **settings)


def distill_static(
    teacher: Embedding,
    texts: Sequence[str],
    *,
    width: int | None = None,
    vectors: Any = None,
    verbose: int = 1,
    **training: Any,
) -> Embedding:
    """A static model that learns a teacher's vectors of texts.

    The vector of a token starts as the mean of the teacher's vectors of the texts with it, without the mean of all
    texts; its weight falls with its frequency. Then both are trained, by the loss of `keras_bert.distill`.

    Args:
        teacher: an embedding or a retrieval, whose tokenizer the static model has; with `vectors` only that is read.
        texts: texts without labels; they get the teacher's prompt of passages.
        width: the width of the token vectors. Where it is below that of the teacher's vectors, the static model has a
            dense layer to the teacher's width; None for that width.
        vectors: see `keras_bert.distill`.
        verbose: 1 shows a progress bar, 0 none.
        training: settings of `Training`; by default 10 epochs of batches of 32 at 1e-2.

    Raises:
        ValueError: a vector or a setting is not valid, or the width is above that of the vectors.
    """
    plan = Training(**{"epochs": 10.0, "learning_rate": 1e-2, "weight_decay": 0.0, **training})
    given = teacher.predict(texts, prompt="passage") if vectors is None else vectors
    answers, is_given = check_vectors("distill_static", given, len(texts))
    rows = teacher.encode([teacher.prompts.passage + text for text in texts])
    rows = {name: array[is_given] for name, array in rows.items()}
    full = answers.shape[1]
    width = full if width is None else width
    check("distill_static", "width", 1 <= width <= full, f"be from 1 to {full}, the width of the vectors", width)
    table, weights = _start_tokens(rows["token_ids"], rows["padding_mask"], answers, teacher.tokenizer)
    axes = np.eye(full) if width == full else np.linalg.eigh(answers.T.astype("float64") @ answers)[1][:, -width:]
    settings = {name: value for name, value in teacher.settings().items() if name != "contrast"}
    task = build_static((table @ axes).astype("float32"), teacher.tokenizer, weights=weights, **settings)
    if width < full:
        task = task.projected(axes.T.astype("float32"))
    source = ArrayRows(TEXT, {**rows, TEACHER_ANSWERS: answers}, teacher.max_length)
    objective = DistillationObjective(objective_for(task, source), None, Distillation())
    train(task, task.network(), [(objective, plan.count_steps(source.count))], source, plan, ProgressBar(verbose))
    return task


def _start_tokens(ids: Array, mask: Array, vectors: Array, tokenizer: BaseTokenizer) -> tuple[Array, Array]:
    """The vectors (tokens, width) and weights (tokens,) before the training."""
    size = tokenizer.vocabulary_size
    row, place = np.nonzero(mask)
    tokens = ids[row, place]
    is_special = np.isin(tokens, tokenizer.special_ids)
    row, tokens = row[~is_special], tokens[~is_special]
    counts = np.bincount(tokens, minlength=size)
    sums = np.zeros((size, vectors.shape[1]))
    np.add.at(sums, tokens, (vectors - vectors.mean(axis=0))[row])
    weights = _SMOOTHING / (_SMOOTHING + counts / max(1, counts.sum()))
    # A token of one text says less than its vector.
    return sums / (counts + 1.0)[:, None] + _SHARE_OF_MEAN * vectors.mean(axis=0), weights.astype("float32")
