"""The share of each word in an answer: integrated gradients, input times gradient, and occlusion."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.layers.tap import recording, transforming
from keras_bert.tasks.base import Features, Task, pad_batch, slices
from keras_bert.tasks.checks import is_keras_model
from plugins.explain.explained import ExplainedRow
from plugins.explain.occlusion import Baseline, baseline_id, scores_without
from plugins.explain.tokens import Array, Tokens

Method = Literal["integrated_gradients", "input_x_gradient", "occlusion"]

# Tokens of one batch of gradients: some 4 GB of activations with BERT base and rows of 512 tokens.
_TOKENS_AT_ONCE = 2048
# An upper limit for mistyped numbers: 64 steps already leave gaps of about 0.01 %.
_MOST_STEPS = 10_000


@dataclasses.dataclass(frozen=True)
class Attribution:
    """What each token of a text adds to a number of a model's answer.

    Attributes:
        score: the number for the text, such as the logit of the label.
        baseline_score: the number for the baseline, in which every word of the text is replaced; None for methods other
            than integrated gradients.
        token_scores: the share of each token, float32 (tokens,), above 0 if the token raises the number. With
            integrated gradients the shares sum to `score - baseline_score`.

    Examples:
        >>> from plugins.explain import Tokens
        >>> row = Tokens.of(task.tokenizer, ["film"], max_length=16)
        >>> attribution = Attribution(row, "yes", "occlusion", 2.0, None, np.array([0.0, 1.5, 0.0], "float32"))
        >>> dict(zip(row.word_texts, attribution.by_word().tolist()))
        {'film': 1.5}
    """

    row: Tokens
    target: str
    method: Method
    score: float
    baseline_score: float | None
    token_scores: Array

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, special ones included."""
        return self.row.tokens

    @property
    def absolute_gap(self) -> float | None:
        """How far the shares' sum is from `score - baseline_score`; None without a baseline's score."""
        if self.baseline_score is None:
            return None
        return abs(float(self.token_scores.sum(dtype="float64")) - (self.score - self.baseline_score))

    @property
    def gap(self) -> float | None:
        """The completeness gap: `absolute_gap` as a share of `score - baseline_score`.

        It is 0 for exact integrals (Sundararajan et al. 2017, proposition 1); more steps make it smaller. It is near 1
        in a model that normalizes the token embeddings alone, such as ModernBERT, if the embedding of `[PAD]` is zero:
        then use the baseline `[MASK]`. It is also large if both scores are nearly equal: then look at `absolute_gap`.
        """
        if self.absolute_gap is None or self.baseline_score is None:
            return None
        return self.absolute_gap / max(abs(self.score - self.baseline_score), 1e-12)

    def by_word(self) -> Array:
        """The sum over the tokens of each word (words,) float32; special tokens are left out."""
        sums = np.zeros(len(self.row.word_texts), "float32")
        inside = self.row.words >= 0
        np.add.at(sums, self.row.words[inside], self.token_scores[inside])
        return sums


def attributions(
    task: Task,
    text: str,
    target: Any = None,
    *,
    pair: str | None = None,
    method: Method = "integrated_gradients",
    baseline: Baseline | None = None,
    steps: int = 64,
) -> Attribution:
    """The share of each token of a text, or of a pair, in one number of the model's answer.

    - `integrated_gradients`: the gradient with respect to the token embeddings, integrated on the straight line from
      those of a baseline to those of the text, times their difference (Sundararajan et al. 2017, equation 1). The
      integral is the mean over the midpoints of equal steps.
    - `input_x_gradient`: the token embeddings times the gradient at the text itself; a rough approximation.
    - `occlusion`: the number for the text less that with one word replaced by the baseline's token (Zeiler and Fergus
      2014, section 4.1). It needs no gradient, and so explains exported files, too. The tokens of a word get
      equal shares of its score.

    Position and segment embeddings stay as they are, and so do special tokens of the row. Text beyond `task.max_length`
    is not read; `Attribution.row.dropped` counts it.

    Args:
        task: a fine-tuned task; for gradients with a Keras model.
        text: the text, or the first of a pair.
        target: the number to explain: a label, `WORD=TAG`, `start` or `end` of an answer, the text to compare an
            embedding with; see `Task.target`. None for the model's answer.
        pair: the second text of a pair.
        method: see above.
        baseline: the token that stands for no information; `[PAD]` by default, for occlusion `[MASK]`.
        steps: steps of the integral, 1 to 10,000.

    Raises:
        ValueError: there is no such target, method or baseline; the method needs gradients and the model is an
            exported file; or the file takes text instead of tokens.

    Examples:
        >>> attribution = attributions(task, "film film", "yes")
        >>> attribution.target, attribution.by_word().shape, attribution.gap < 0.01
        ('yes', (2,), True)
        >>> attributions(task, "film", "Yes")
        Traceback (most recent call last):
        ...
        ValueError: target must be one of ['no', 'yes'], got 'Yes'; the nearest is 'yes'
    """
    check_method(task, method, baseline, steps)
    return attribute(task, ExplainedRow.of(task, text, target, pair), method, baseline, steps)


def check_method(task: Task, method: Method, baseline: Baseline | None = None, steps: int = 64) -> None:
    """Checks the settings of `attributions`."""
    owner = "attributions"
    check(owner, "method", method in get_args(Method), f"be one of {get_args(Method)}", method)
    exists = baseline is None or baseline in get_args(Baseline)
    check(owner, "baseline", exists, f"be one of {list(get_args(Baseline))}", baseline)
    is_whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    check(owner, "steps", is_whole and 1 <= steps <= _MOST_STEPS, f"be a whole number from 1 to {_MOST_STEPS}", steps)
    has_gradients = method == "occlusion" or is_keras_model(task.model)
    rule = "be a Keras model for gradients; an exported file can be explained with method='occlusion'"
    check(owner, "task.model", has_gradients, rule, type(task.model).__name__)


def attribute(
    task: Task, row: ExplainedRow, method: Method, baseline: Baseline | None = None, steps: int = 64
) -> Attribution:
    """The attribution of a row that is encoded already, see `attributions`."""
    baseline = baseline or ("[MASK]" if method == "occlusion" else "[PAD]")
    baseline_token, baseline_score = baseline_id(task.tokenizer, baseline), None
    if method == "occlusion":
        # The score less that without the word of each token, shared by the tokens of the word.
        words, count = row.tokens.words, len(row.tokens.word_texts)
        scores = scores_without(task, row, baseline_token, np.eye(count + 1, count, k=-1, dtype=bool))
        sizes = np.bincount(words[words >= 0], minlength=count)
        shares = np.append((scores[0] - scores[1:]) / np.maximum(sizes, 1), 0.0)  # word -1, special tokens: 0
        score, token_scores = float(scores[0]), shares[words].astype("float32")
    elif method == "input_x_gradient":
        score, token_scores = _Embeddings(task, row).times_gradient()
    else:
        score, baseline_score, token_scores = _Embeddings(task, row).integrate(baseline_token, steps)
    return Attribution(row.tokens, row.target.name, method, score, baseline_score, token_scores)


class _Embeddings:
    """The scores of a task's model as a function of the token embeddings of one row."""

    def __init__(self, task: Task, row: ExplainedRow) -> None:
        self._task, self._row, features = task, row, row.features
        # Padded as `predict` does: the blocks of a BigBird depend on the length.
        self._batch = pad_batch(features, np.array([0]), features["token_ids"].shape[1], task.positions)
        self._layer = next(layer for layer in task.encoder._flatten_layers() if isinstance(layer, TokenEmbedding))

    def times_gradient(self) -> tuple[float, Array]:
        with self._task._answering():
            vectors = self._vectors(self._batch["token_ids"])
            scores, gradients = self._gradients(vectors)
        return float(scores[0]), self._token_scores(vectors * gradients)

    def integrate(self, baseline_token: int, steps: int) -> tuple[float, float, Array]:
        words, ids = self._row.tokens.words, self._batch["token_ids"].copy()
        ids[0, : len(words)][words >= 0] = baseline_token
        midpoints = (np.arange(steps, dtype="float32") + 0.5) / steps
        with self._task._answering():
            vectors, start = self._vectors(self._batch["token_ids"]), self._vectors(ids)
            total = np.zeros(vectors.shape, "float64")
            for part in slices(steps, max(_TOKENS_AT_ONCE // ids.shape[1], 1)):
                points = start + midpoints[part, None, None] * (vectors - start)
                total += self._gradients(points)[1].sum(axis=0, dtype="float64")
            ends, _ = self._gradients(np.concatenate([vectors, start]))
        return float(ends[0]), float(ends[1]), self._token_scores((vectors - start) * total / steps)

    def _vectors(self, token_ids: Array) -> Array:
        """(1, length) -> (1, prompt + length, width): the encoder puts placeholders of a prompt in front."""
        with recording([self._layer.output_tap]) as tensors:
            self._task.model(self._inputs({**self._batch, "token_ids": token_ids}, rows=1), training=False)
        return np.asarray(ops.convert_to_numpy(ops.cast(tensors[self._layer.output_tap][0], "float32")))

    def _token_scores(self, shares: Array) -> Array:
        """(1, prompt + length, width) -> (tokens,)."""
        count, prompt = len(self._row.tokens.tokens), shares.shape[1] - self._batch["token_ids"].shape[1]
        return shares.sum(axis=-1)[0, prompt : prompt + count].astype("float32")

    def _inputs(self, batch: Features, rows: int) -> Features:
        return {name: np.repeat(batch[name], rows, axis=0) for name in self._task.model.input}

    def _gradients(self, vectors: Array) -> tuple[Array, Array]:
        """The scores (rows,) of token embeddings (rows, prompt + length, width), and their gradients."""
        inputs = self._inputs(self._batch, len(vectors))

        def score(points: Any) -> Any:
            with transforming(self._layer.output_tap, lambda x: ops.cast(points, x.dtype)):
                return self._row.target.score(self._task.model(inputs, training=False))

        return scores_and_gradients(score, vectors)


def scores_and_gradients(function: Callable[[Any], Any], inputs: Array) -> tuple[Array, Array]:
    """The scores (rows,) of rows (rows, ...), and the gradient of each score with respect to its row, float32.

    Each score of the function only depends on its own row. Keras has no function for gradients.
    """
    name, tensors = keras.backend.backend(), ops.convert_to_tensor(inputs)
    if name == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors)
            scores = ops.cast(function(tensors), "float32")
        gradients = tape.gradient(scores, tensors)
    elif name == "jax":
        import jax

        scores, pull_back = jax.vjp(lambda rows: ops.cast(function(rows), "float32"), tensors)
        (gradients,) = pull_back(ops.ones_like(scores))
    else:
        raise NotImplementedError(f"gradients need Keras on TensorFlow or JAX, got {name!r}; use occlusion")
    return np.asarray(scores), np.asarray(gradients, "float32")
