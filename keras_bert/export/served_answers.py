"""From text to answers in TensorFlow operations, for a SavedModel: what `Task.predict` does, without Python."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.tasks.base import Task
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification
from keras_bert.tokenizers.tokenizer import Tokenizer

Outputs = dict[str, tf.Tensor]


class Served(NamedTuple):
    """The parts of a SavedModel that its answers are made with.

    Attributes:
        run: the network: inputs (rows, length) -> its output (rows, ...).
        threshold: reads the least probability of an answer that the model is sure of, float64.
    """

    tokenizer: Tokenizer
    run: Callable[[Outputs], tf.Tensor]
    temperature: Callable[[], tf.Tensor]
    threshold: Callable[[], tf.Tensor]

    def probabilities(self, logits: tf.Tensor) -> tf.Tensor:
        """The softmax of logits (..., labels) after calibration, float64."""
        return tf.nn.softmax(tf.cast(logits, tf.float64) / self.temperature())


@functools.singledispatch
def answer_texts(task: Task, served: Served, *texts: tf.Tensor) -> Outputs:
    """The answers for texts, or for pairs of texts, each (batch,) strings: tensors (batch, ...) by name.

    The names are those of `Task.answer_columns`, and further ones. A task without an entry here answers with the
    output of its network.
    """
    rows = served.tokenizer.encode(*texts, max_length=task.max_length, pad_to_longest=True)
    return {task.output_name: served.run(rows)}


_answer_with_output = answer_texts.dispatch(object)


@answer_texts.register
def _classify(task: Classification, served: Served, *texts: tf.Tensor) -> Outputs:
    outputs = _answer_with_output(task, served, *texts)
    shares = served.probabilities(outputs["logits"])
    probability = tf.reduce_max(shares, axis=1)
    return {
        **outputs,
        "label": tf.gather(tf.constant(task.labels), tf.argmax(shares, axis=1)),
        "probability": tf.cast(probability, tf.float32),
        "sure": probability >= served.threshold(),
        "probabilities": tf.cast(shares, tf.float32),
    }


@answer_texts.register
def _label(task: MultiLabelClassification, served: Served, *texts: tf.Tensor) -> Outputs:
    outputs = _answer_with_output(task, served, *texts)
    logits = tf.cast(outputs["logits"], tf.float64)
    # None stands for a label that is never given.
    thresholds = tf.constant([2.0 if value is None else value for value in task.thresholds], tf.float64)
    return {
        **outputs,
        "labels": tf.repeat(tf.constant([task.labels]), tf.shape(logits)[0], axis=0),
        "given": tf.sigmoid(logits) >= thresholds,
        "probabilities": tf.cast(tf.sigmoid(logits / served.temperature()), tf.float32),
    }


@answer_texts.register
def _predict_number(task: Regression, served: Served, *texts: tf.Tensor) -> Outputs:
    (name,) = task.answer_columns()
    number = _answer_with_output(task, served, *texts)[task.output_name][:, 0]
    return {name: tf.sigmoid(number) if getattr(task, "activation", "none") == "sigmoid" else number}


@answer_texts.register
def _embed(task: Embedding, served: Served, *texts: tf.Tensor) -> Outputs:
    vectors = [_answer_with_output(task, served, text)[task.output_name] for text in texts]
    if len(vectors) == 1:
        return {"vector": vectors[0]}
    first, second = vectors
    function = task.similarity_function
    if function in ("euclidean", "manhattan"):
        return {"similarity": -tf.norm(first - second, ord=2 if function == "euclidean" else 1, axis=1)}
    if function == "cosine":
        first, second = (v / tf.maximum(tf.norm(v, axis=1, keepdims=True), 1e-12) for v in vectors)
    return {"similarity": tf.reduce_sum(first * second, axis=1)}


@answer_texts.register
def _tag_words(task: TokenClassification, served: Served, *texts: tf.Tensor) -> Outputs:
    """The tag of each word, its probability, and the characters where it starts and ends: (batch, most words).

    A text with fewer words than another one has empty tags, probability 0 and offsets -1 after its last word. Long
    texts are read in rows that overlap, as by `TokenClassification.predict`. Like `pack_words` and
    `WordRows.most_central`, a word in several rows is read in the row in which it is the most central.
    """
    (text,) = (_as_unicode(text) for text in texts)
    room = task.max_length - 2
    ids, starts, ends = served.tokenizer.tokenize_with_offsets(text)
    begins = ~tf.gather(tf.constant(served.tokenizer.word_marks()), ids.flat_values)
    word_of_token = tf.cumsum(tf.cast(begins, tf.int32)) - 1
    first_tokens = tf.cast(tf.where(begins)[:, 0], tf.int32)
    words = tf.size(first_tokens)
    last_tokens = tf.concat([first_tokens[1:], [tf.size(begins)]], 0)[:words] - 1
    kept = tf.range(tf.size(begins)) - tf.gather(first_tokens, word_of_token) < room
    before = tf.concat([[0], tf.cumsum(tf.minimum(last_tokens - first_tokens + 1, room))], 0)
    splits = tf.cast(tf.searchsorted(first_tokens, tf.cast(ids.row_splits, tf.int32)), tf.int32)
    runs = _split_words(splits, before, room)
    firsts, lengths = tf.gather(before, runs[:, 0]), tf.gather(before, runs[:, 1]) - tf.gather(before, runs[:, 0])
    tokens = tf.ragged.range(firsts, firsts + lengths)
    tokens = tokens.with_values(tf.gather(tf.boolean_mask(ids.flat_values, kept), tokens.values))
    shares = served.probabilities(served.run(_build_inputs(served.tokenizer, [tokens], [lengths])))
    held = tf.ragged.range(runs[:, 0], runs[:, 1])
    row, word = tf.cast(held.value_rowids(), tf.int32), held.values
    column = tf.gather(before, word) - tf.gather(firsts, row)
    central = _is_first_best(tf.minimum(column, tf.gather(lengths, row) - column - 1), word, words)
    row, word, column = (tf.boolean_mask(values, central) for values in (row, word, column))
    order = tf.argsort(word)
    shares = tf.gather(tf.gather_nd(shares, tf.stack([row, column + 1], 1)), order)
    tags = tf.gather(tf.constant(task.labels), tf.argmax(shares, axis=1))
    text_of_word = tf.gather(ids.value_rowids(), first_tokens)
    word_ends = _extend_over_marks(tf.gather(text, text_of_word), tf.gather(ends.flat_values, last_tokens))
    answers = {
        "tags": (tags, ""),
        "probabilities": (tf.cast(tf.reduce_max(shares, axis=1), tf.float32), 0.0),
        "starts": (tf.gather(starts.flat_values, first_tokens), -1),
        "ends": (word_ends, -1),
    }
    return {
        name: tf.RaggedTensor.from_row_splits(values, splits, validate=False).to_tensor(filling)
        for name, (values, filling) in answers.items()
    }


def _split_words(splits: tf.Tensor, before: tf.Tensor, room: int) -> tf.Tensor:
    """`split_words` for all texts at once: (rows, 2) int32, the first word of a row and the one after its last.

    Text t has the words splits[t]:splits[t + 1], and `before` counts the tokens before each word of all texts.
    """
    ends = splits[1:]

    def split(firsts: tf.Tensor, ends: tf.Tensor, runs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        full = tf.searchsorted(before, tf.gather(before, firsts) + room, side="right") - 1
        lasts = tf.minimum(full, ends)
        runs = tf.concat([runs, tf.stack([firsts, lasts], 1)], 0)
        firsts, lasts, ends = (tf.boolean_mask(values, lasts < ends) for values in (firsts, lasts, ends))
        least = tf.maximum(tf.gather(before, lasts) - room // 4, tf.gather(before, lasts + 1) - room)
        return tf.searchsorted(before, least), ends, runs

    has_words = splits[:-1] < ends
    start = (tf.boolean_mask(splits[:-1], has_words), tf.boolean_mask(ends, has_words), tf.zeros((0, 2), tf.int32))
    shapes = (tf.TensorShape([None]), tf.TensorShape([None]), tf.TensorShape([None, 2]))
    runs: tf.Tensor = tf.while_loop(lambda firsts, *_: tf.size(firsts) > 0, split, start, shapes)[2]
    return runs


@answer_texts.register
def _find_answers(task: QuestionAnswering, served: Served, *texts: tf.Tensor) -> Outputs:
    """As `QuestionAnswering.predict`: `cut_windows`, `best_spans`, `best_of_rows` and `answers_of` for tensors."""
    questions, contexts = map(_as_unicode, texts)
    question_ids = served.tokenizer.tokenize(questions)
    ids, starts, ends = served.tokenizer.tokenize_with_offsets(contexts)
    special, texts_count = served.tokenizer.special_count(2), tf.size(contexts)
    question_lengths = tf.minimum(tf.cast(question_ids.row_lengths(), tf.int32), task.max_query_length)
    context_lengths, splits = tf.cast(ids.row_lengths(), tf.int32), tf.cast(ids.row_splits, tf.int32)
    room = task.max_length - question_lengths - special
    counts = 1 + tf.maximum(-((room - context_lengths) // task.stride), 0)
    rows = tf.repeat(tf.range(texts_count), counts)
    skipped = tf.ragged.range(counts).values * task.stride
    lengths = tf.minimum(tf.gather(room, rows), tf.gather(context_lengths, rows) - skipped)
    firsts, columns = tf.gather(splits, rows) + skipped, tf.gather(question_lengths, rows) + special - 1
    parts = tf.ragged.range(firsts, firsts + lengths)
    parts = parts.with_values(tf.gather(ids.flat_values, parts.values))
    inputs = _build_inputs(
        served.tokenizer, [tf.gather(question_ids, rows), parts], [tf.gather(question_lengths, rows), lengths]
    )
    logits = tf.cast(served.run(inputs), tf.float64)
    places = tf.range(tf.shape(logits)[1]) - columns[:, None]
    inside = (places >= 0) & (places < lengths[:, None])
    tokens = places + firsts[:, None]
    context = 100 * tf.minimum(places, lengths[:, None] - 1 - places) + lengths[:, None]
    widest = _is_first_best(tf.boolean_mask(context, inside), tf.boolean_mask(tokens, inside), tf.size(ids.flat_values))
    may_start = tf.scatter_nd(tf.where(inside), widest, tf.shape(inside, tf.int64))
    nothing = tf.constant(-np.inf, tf.float64)
    start_scores = tf.where(may_start, logits[:, :, 0], nothing)
    most = task.max_answer_length
    end_scores = tf.pad(tf.where(inside, logits[:, :, 1], nothing), [[0, 0], [0, most - 1]], constant_values=nothing)
    scores = start_scores[:, :, None] + tf.signal.frame(end_scores, most, 1, axis=1)
    scores = tf.reshape(scores, (tf.shape(logits)[0], tf.shape(logits)[1] * most))
    best, top, totals = tf.argmax(scores, 1, tf.int32), tf.reduce_max(scores, 1), tf.reduce_logsumexp(scores, 1)
    first = tf.gather(tokens, best // most, batch_dims=1)
    chosen = _is_first_best(top, rows, texts_count)
    first, last, top = (tf.boolean_mask(values, chosen) for values in (first, first + best % most, top))
    has_span = tf.math.is_finite(top)
    totals = _log_segment_sum(totals, rows)
    null = tf.math.segment_min(tf.reduce_sum(logits[:, 0], axis=1), rows)
    if task.null_threshold is None:
        silent, totals = ~has_span, tf.where(has_span, totals, null)
    else:
        silent, totals = null - top > task.null_threshold, tf.reduce_logsumexp([totals, null], axis=0)
    # One more token, so that there is one for texts without tokens.
    start, end = (
        tf.where(silent, 0, tf.gather(tf.concat([offsets.flat_values, [0]], 0), tf.where(silent, 0, token)))
        for offsets, token in ((starts, first), (ends, last))
    )
    end = tf.where(silent, 0, _extend_over_marks(contexts, end))
    return {
        "answer": tf.strings.substr(contexts, start, end - start, unit="UTF8_CHAR"),
        "start": start,
        "end": end,
        "probability": tf.cast(tf.exp(tf.where(silent, null, top) - totals), tf.float32),
        "null_score_difference": tf.cast(null - top, tf.float32),
    }


@functools.singledispatch
def expected_numbers(task: Task, *texts: Sequence[str]) -> tuple[str, Any]:
    """The name of an output of `answer_texts` with numbers, and what the task itself says of texts: (texts, ...)."""
    return task.output_name, list(task.outputs(*texts))


@expected_numbers.register
def _expected_number(task: Regression, *texts: Sequence[str]) -> tuple[str, Any]:
    (name,) = task.answer_columns()
    return name, task.predict(*texts)


@expected_numbers.register
def _expected_vectors(task: Embedding, *texts: Sequence[str]) -> tuple[str, Any]:
    vectors = [task.predict(side) for side in texts]
    return ("vector", vectors[0]) if len(vectors) == 1 else ("similarity", task.compare_pairs(*vectors))


@expected_numbers.register
def _expected_tags(task: TokenClassification, *texts: Sequence[str]) -> tuple[str, Any]:
    words, *_ = task._tokenize_texts(texts[0])
    shares = np.split(task._tag(words, 32)[1], words.splits[1:-1])
    most = max(map(len, shares))
    return "probabilities", [np.pad(part, (0, most - len(part))) for part in shares]


@expected_numbers.register
def _expected_answers(task: QuestionAnswering, *texts: Sequence[str]) -> tuple[str, Any]:
    return "probability", [answer.probability for answer in task.predict(*texts)]


def _build_inputs(tokenizer: Tokenizer, parts: list[tf.RaggedTensor], lengths: list[tf.Tensor]) -> Outputs:
    """The model's inputs of the first `lengths` tokens of one or two parts, as wide as the longest row."""
    # The maximum over an empty batch is the smallest integer.
    width = tf.maximum(tf.reduce_max(tf.add_n(lengths)), 0) + tokenizer.special_count(len(parts))
    return tokenizer._build_inputs(parts, lengths, tf.range(width)[tf.newaxis])


def _is_first_best(scores: tf.Tensor, groups: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Whether an item has the largest score of its group, and is the first one with it; all tensors are (items,)."""
    numbers = tf.range(tf.size(scores))
    scores = tf.maximum(scores, scores.dtype.min)
    is_best = scores == tf.gather(tf.math.unsorted_segment_max(scores, groups, count), groups)
    least = tf.math.unsorted_segment_min(tf.where(is_best, numbers, numbers.dtype.max), groups, count)
    return numbers == tf.gather(least, groups)


def _log_segment_sum(values: tf.Tensor, groups: tf.Tensor) -> tf.Tensor:
    """The logarithm of the sum of e^value over each group; groups are sorted."""
    top = tf.math.segment_max(values, groups)
    finite = tf.where(tf.math.is_finite(top), top, 0)
    return finite + tf.math.log(tf.math.segment_sum(tf.exp(values - tf.gather(finite, groups)), groups))


def _as_unicode(texts: tf.Tensor) -> tf.Tensor:
    """Texts with U+FFFD for bytes that are not UTF-8, which is how the tokenizer counts its offsets."""
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _extend_over_marks(texts: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
    """The ends of tokens after the marks that follow them, as `end_with_marks`; texts and ends are (batch,)."""
    rest = tf.strings.substr(texts, ends, tf.strings.length(texts), unit="UTF8_CHAR")
    return ends + tf.strings.length(tf.strings.regex_replace(rest, r"(?s)^(\pM*).*$", r"\1"), unit="UTF8_CHAR")
