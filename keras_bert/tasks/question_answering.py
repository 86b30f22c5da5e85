"""Extractive question answering: the answer is a span of the context (Devlin et al. 2019, sections 4.2 and 4.3)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.folders import END_LOGITS, START_LOGITS
from keras_bert.metrics.squad import choose_null_threshold
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.answer_spans import Answer, Spans, answers_of, best_of_rows, best_spans
from keras_bert.tasks.answer_windows import (
    TokenizedTexts,
    Windows,
    answer_positions,
    cut_windows,
    drop_split_answers,
    find_tokens,
    widest_windows,
    window_features,
)
from keras_bert.tasks.base import Array, Features, Runtime, Task, slices
from keras_bert.tasks.checks import as_columns, as_texts, check_same_length, is_keras_model, is_missing, label_number
from keras_bert.tasks.targets import AnswerRow, RowWords, Target, UnexplainedRowError

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

# Tokens of a question and the token in front of them, where no limit is set: 64 in `run_squad.py`.
QUESTION_TOKENS = 65

# Windows that are held in memory as inputs and logits at once, and those of them whose spans are scored at once: few,
# so that the scores, 3 MB with 384 tokens and answers of 30 tokens, stay in the processor's cache.
_WINDOWS_AT_ONCE = 4096
_SCORED_AT_ONCE = 32


def build_span_classifier(
    encoder: keras.Model, *, dropout: float = 0.0, separator: int | None = None, question_tokens: int = QUESTION_TOKENS
) -> keras.Model:
    """Puts a linear layer on the final state of every token.

    Args:
        encoder: an encoder as `build_encoder` returns it, whose weights are shared, not copied.
        dropout: the dropout rate on the token states; 0 in the released code (`run_squad.py` of google-research/bert).
        separator: the id of the separator behind a question, for graphs that read it: Longformer's and BigBird's.
        question_tokens: the maximum number of global tokens of a question, `[CLS]` included, in Longformer's graph.

    Returns:
        A model from the encoder's inputs to the logits of start and end (batch, length, 2). Those of padding are lower
        by 120, so that their probability is 0, and loss and answers do not depend on the padding of a batch. In
        BigBird's graph this holds for the question, too, as in transformers.

    Raises:
        ValueError: the graph reads a separator, and there is none.

    Examples:
        >>> build_span_classifier(task.encoder).output.shape
        (None, None, 2)
    """
    import keras

    from keras_bert.families.bigbird.span_head import QuestionBias, SpanTransform
    from keras_bert.layers.dense import Dense
    from keras_bert.layers.dropout import Dropout
    from keras_bert.models.encoder import config_of, head_inputs, output_of, sequence_output
    from keras_bert.models.global_tokens import with_global_tokens

    encoder = with_global_tokens(encoder, "question", most=question_tokens, separator=separator)
    states, bias = head_inputs(encoder, sequence_output(encoder)), output_of(encoder, "attention_bias")
    config = config_of(encoder)
    if config.variant is not None and config.variant.span_head:
        check("build_span_classifier", "separator", separator is not None, "be set for such an encoder", separator)
        states = SpanTransform(
            config.intermediate_size,
            config.activation,
            config.dropout,
            config.layer_norm_epsilon,
            config.initializer_range,
            name="span_transform",
        )(states)
        bias = QuestionBias(separator or 0, name="question_bias")(encoder.input["token_ids"], bias)
    states = Dropout(dropout, name="span_dropout")(states)
    logits = Dense(2, name="span_classifier")(states)
    bias = keras.layers.Reshape((-1, 1), name="span_bias")(bias)
    # In this order: the other way round and with one row, Keras takes the bias for that of a convolution, which the
    # TFLite converter refuses.
    return keras.Model(encoder.input, keras.layers.Add(name="span_logits")([bias, logits]), name="question_answering")


def separator_of(model: keras.Model) -> int | None:
    """The id of the separator by which a model finds the end of a question; None for a model that does not."""
    from keras_bert.models.encoder import has_layer
    from keras_bert.models.global_tokens import global_tokens_of

    chosen = global_tokens_of(model)
    if chosen is not None:
        return chosen.separator
    return model.get_layer("question_bias").separator if has_layer(model, "question_bias") else None


class QuestionAnswering(Task):
    """The span of a context that answers a question; contexts of any length are read in windows.

    Args:
        model: a model as `build_span_classifier` returns it, or an exported file; others see `Task`.
        max_length: the maximum number of tokens of a window, special tokens included.
        stride: tokens of the context from the start of one window to the start of the next.
        max_query_length: the maximum number of tokens of a question; a longer one is truncated.
        max_answer_length: the maximum number of tokens of an answer.
        null_threshold: the largest `null_score_difference` of an answer; above it there is no answer. None always gives
            an answer, as in SQuAD v1.1. It may be set again after tuning on development data.

    Raises:
        ValueError: see `Task`; or the model does not give two logits for each token, a setting is below 1, the
            windows have no room for a context or leave gaps, or `null_threshold` is not finite.

    Examples:
        >>> settings = {"max_length": 16, "stride": 2, "max_query_length": 4, "null_threshold": None}
        >>> answering = QuestionAnswering.build(task.encoder, task.tokenizer, **settings)
        >>> (answer,) = answering.predict(["film"], ["film film film"])
        >>> answer.text == "film film film"[answer.start : answer.end]
        True
    """

    name = "question_answering"
    label_name = "positions"
    truncates = False
    second_text = "required"
    second_name = "context of each question"
    places = "tokens"

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 384,
        stride: int = 128,
        max_query_length: int = 64,
        max_answer_length: int = 30,
        null_threshold: float | None = 0.0,
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        owner = type(self).__name__
        shape: tuple[Any, ...] = getattr(model.output, "shape", ())
        check(owner, "model", len(shape) == 3 and shape[-1] == 2, "give logits (batch, length, 2)", shape)
        room = max_length - tokenizer.special_count(2) - max_query_length
        rule = f"be at least 1 and leave room for a context in {max_length} tokens"
        check(owner, "max_query_length", max_query_length >= 1 and room > 1, rule, max_query_length)
        rule = f"be at least 1 and less than the {room} tokens of a context that a window shows beside a long question"
        check(owner, "stride", 1 <= stride < room, rule, stride)
        check(owner, "max_answer_length", max_answer_length >= 1, "be at least 1", max_answer_length)
        if is_keras_model(model):
            from keras_bert.models.global_tokens import global_tokens_of

            chosen = global_tokens_of(model)
            if chosen is not None:
                rule = (
                    f"be at most {chosen.most - 1}, the tokens of a question that the model was built to see as global"
                )
                check(owner, "max_query_length", max_query_length < chosen.most, rule, max_query_length)
        self.stride = int(stride)
        self.max_query_length = int(max_query_length)
        self.max_answer_length = int(max_answer_length)
        self.null_threshold = null_threshold

    def transformers_outputs(self, outputs: Any) -> dict[str, Any]:
        """The logits of starts and of ends, each (batch, length)."""
        return {START_LOGITS: outputs[..., 0], END_LOGITS: outputs[..., 1]}

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_query_length: int = 64,
        dropout: float = 0.0,
        **settings: Any,
    ) -> Self:
        model = build_span_classifier(
            encoder, dropout=dropout, separator=tokenizer.sep_id, question_tokens=max_query_length + 1
        )
        return cls(model, tokenizer, max_query_length=max_query_length, **settings)._with_drawn_weights(encoder)

    @property
    def null_threshold(self) -> float | None:
        """The largest `Answer.null_score_difference` of an answer; with None there is always an answer."""
        return self._null_threshold

    @null_threshold.setter
    def null_threshold(self, value: float | None) -> None:
        finite = value is None or math.isfinite(value)
        check(type(self).__name__, "null_threshold", finite, "be a finite number or None", value)
        self._null_threshold = None if value is None else float(value)

    def settings(self) -> dict[str, Any]:
        names = ("stride", "max_query_length", "max_answer_length", "null_threshold")
        return {**super().settings(), **{name: getattr(self, name) for name in names}}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """Whether the most probable start and end (rows, length, 2) are the same; neither is padding."""
        # An exported file may return zeros at padding, which may exceed all other logits of the row.
        inside = np.asarray(padding_mask)[:, :, None] == 1
        starts_and_ends = [np.where(inside, outputs, -np.inf).argmax(axis=1) for outputs in (reference, candidate)]
        return (starts_and_ends[0] == starts_and_ends[1]).all(axis=1).astype("float64")

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import QuestionAnsweringObjective

        self._refuse_class_weights(class_weights)
        return QuestionAnsweringObjective()

    def loss(self) -> Any:
        """Mean cross-entropy of start and end, in nats."""
        from keras_bert.core.losses import span_loss

        return span_loss

    def metrics(self) -> list[keras.metrics.Metric]:
        """The share of windows whose start and end are both right; for answers see `keras_bert.metrics.squad`."""
        import keras

        from keras_bert.core.losses import correct_spans

        return [keras.metrics.MeanMetricWrapper(correct_spans, name="accuracy")]

    def examples(
        self, questions: Sequence[str], contexts: Sequence[str], answers: Sequence[tuple[str, int] | None]
    ) -> tuple[Features, Array]:
        """Arguments of `model.fit`; a row with a long context gives several windows, one after the other.

        A row whose answer stands whole in no window gives none, as it would teach that there is no answer.

        Args:
            questions: the question of each row.
            contexts: the context of each row.
            answers: for each row the text and the index of its first character in the context, or None if there is no
                answer. Tokens that are partly in an answer belong to it.

        Returns:
            The inputs (windows, length), and the tokens where the answer starts and ends (windows, 2) int32: 0, which
            is `[CLS]`, where a window does not hold the whole answer.

        Raises:
            TypeError: an answer is not a text with a number.
            ValueError: an answer does not stand at its index, it holds no token, or none stands whole in a window.
        """
        questions, contexts, answers = as_columns(questions=questions, contexts=contexts, answers=answers)
        question_tokens, context_tokens, windows = self._windows(questions, contexts)
        spans = find_tokens(context_tokens, _bounds(answers, contexts))
        windows = drop_split_answers(spans, windows)
        if not len(windows.rows):
            rule = f"answers must stand whole in a window of {self.max_length} tokens"
            raise ValueError(f"{rule}, got none of {len(answers)} that does")
        features = window_features(question_tokens, context_tokens, windows, self.tokenizer)
        return features, answer_positions(spans, windows)

    @property
    def tunes(self) -> bool:  # type: ignore[override]
        """Whether a question may have no answer."""
        return self.null_threshold is not None

    def tune(
        self,
        questions: Sequence[str],
        contexts: Sequence[str],
        answers: Sequence[tuple[str, int] | Sequence[tuple[str, int]] | None],
    ) -> None:
        """Sets `null_threshold` to the one with the best F1, see `keras_bert.metrics.squad.choose_null_threshold`.

        A question may have several answers.
        """
        # Without a threshold every question gets an answer, whose score the threshold is compared with.
        self.null_threshold = None
        predicted = [(answer.text, answer.null_score_difference) for answer in self.predict(questions, contexts)]
        self.null_threshold = choose_null_threshold(predicted, [_answer_texts(answer) for answer in answers])

    def predict(self, questions: Sequence[str], contexts: Sequence[str], *, batch_size: int = 32) -> list[Answer]:
        """The answer to each question from its context; no answer where the context is empty."""
        questions, contexts = as_texts("questions", questions), as_texts("contexts", contexts)
        question_tokens, context_tokens, windows = self._windows(questions, contexts)
        spans = self._best_spans(question_tokens, context_tokens, windows, batch_size)
        return answers_of(spans, context_tokens, contexts, self.null_threshold)

    def _best_spans(
        self, question_tokens: TokenizedTexts, context_tokens: TokenizedTexts, windows: Windows, batch_size: int = 32
    ) -> Spans:
        """The best span of each row."""
        widest = widest_windows(windows, len(context_tokens.ids))
        parts: list[Spans] = []
        for many in slices(len(windows.rows), _WINDOWS_AT_ONCE):
            part = windows.part(many)
            features = window_features(question_tokens, context_tokens, part, self.tokenizer)
            # Each window is as long as its batch.
            logits = np.zeros((*features["token_ids"].shape, 2), "float32")
            for row, values in enumerate(self.forward(features, batch_size)):
                logits[row, : len(values)] = values[: logits.shape[1]]
            parts += [
                best_spans(logits[few], part.part(few), widest, self.max_answer_length)
                for few in slices(len(logits), _SCORED_AT_ONCE)
            ]
        return best_of_rows(parts, windows.rows)

    def read_row(self, texts: Sequence[str], characters: tuple[int, int] | None = None) -> AnswerRow:
        """The window of the context that the answer of `predict` comes from; a single text is one row."""
        if len(texts) < 2:
            return super().read_row(texts)
        question_tokens, context_tokens, windows = self._windows(texts[:1], texts[1:])
        span, answer = None, None
        if characters is not None:
            # The window with the most tokens of this part of the context, the first of several.
            start, end = characters
            tokens = np.flatnonzero((context_tokens.starts >= start) & (context_tokens.ends <= end))
            first, stop = (tokens[0], tokens[-1] + 1) if len(tokens) else (0, 0)
            shared = np.minimum(windows.firsts + windows.lengths, stop) - np.maximum(windows.firsts, first)
            number = int(shared.argmax())
        else:
            spans = self._best_spans(question_tokens, context_tokens, windows)
            (best,) = answers_of(spans, context_tokens, texts[1:], self.null_threshold)
            answer, number = (best.start, best.end), 0
            if np.isfinite(spans.scores[0]):
                number = int(widest_windows(windows, len(context_tokens.ids))[spans.firsts[0]])
                shift = windows.columns[number] - windows.firsts[number]
                span = int(spans.firsts[0] + shift), int(spans.lasts[0] + shift)
        window = windows.part(slice(number, number + 1))
        features = window_features(question_tokens, context_tokens, window, self.tokenizer)
        first = int(window.firsts[0])
        parts = slice(0, int(window.question_lengths[0])), slice(first, first + int(window.lengths[0]))
        return AnswerRow(features, parts, span, answer)

    def target(self, choice: str | None, outputs: Any, row: RowWords) -> Target:
        """The logit of the answer's start or end at a token of the context.

        Args:
            choice: `start` or `end` for that of the answer of `predict`, or `start=WORD` or `end=WORD` for the most
                probable token of a word of the context, by its number in the row, or its text where it occurs first in
                the context; None for `start`.
            outputs: the logits of the row (length, 2).
            row: the words of the row.
        """
        sides = ("start", "end")
        name, _, word_name = (choice or "start").partition("=")
        side = label_number("target", name, sides)
        context = np.flatnonzero((row.segments == 1) & (row.words >= 0))
        if not len(context):
            rule = f"hold a word beside the question, got a row of {len(row.words)} tokens without one"
            raise UnexplainedRowError(f"{type(self).__name__}.context must {rule}")
        if word_name:
            context = context[row.words[context] == self._context_word(word_name, row, context)]
        elif row.answer is not None:
            context = context[context == row.answer[side]]
        place = int(context[np.asarray(outputs)[context, side].argmax()])
        word = int(row.words[place])
        return Target(
            f"{name} at {row.word_texts[word]!r}",
            f"{name}={word}",
            lambda logits: logits[:, place, side],
            word,
            lambda number: f"{name}={number}",
        )

    def _context_word(self, name: str, row: RowWords, context: Array) -> int:
        numbers = np.unique(row.words[context]).tolist()
        if name.isdecimal() and int(name) in numbers:
            return int(name)
        return int(numbers[label_number("target", name, [row.word_texts[number] for number in numbers])])

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`answer`, empty for no answer, its place in the context from `start` to `end`, and `probability`."""
        return {"answer": str, "start": int, "end": int, "probability": float}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        if seconds is None:
            raise ValueError("contexts must be given, one for each question, got none")
        for answer in self.predict(texts, seconds):
            yield answer.text, answer.start, answer.end, answer.probability

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Answer, probability and place in the context."""
        answer, start, end, probability = values
        return [(answer or "(no answer)", f"{probability:.4f}", f"{start}:{end}")]

    def _windows(
        self, questions: Sequence[str], contexts: Sequence[str]
    ) -> tuple[TokenizedTexts, TokenizedTexts, Windows]:
        questions, contexts = as_texts("questions", questions), as_texts("contexts", contexts)
        check_same_length("questions", questions, "contexts", contexts)
        question_tokens, context_tokens = (TokenizedTexts.of(self.tokenizer, texts) for texts in (questions, contexts))
        windows = cut_windows(
            question_tokens,
            context_tokens,
            max_length=self.max_length,
            stride=self.stride,
            max_query_length=self.max_query_length,
            special=self.tokenizer.special_count(2),
        )
        return question_tokens, context_tokens, windows


def _answer_texts(answers: Any) -> list[str]:
    """The texts of the answers to a question, of which there may be one, several or none."""
    if answers is None or is_missing(answers):
        return []
    return [answers[0]] if answers and isinstance(answers[0], str) else [text for text, _ in answers]


def _bounds(answers: Sequence[tuple[str, int] | None], contexts: Sequence[str]) -> list[tuple[int, int] | None]:
    """The index of each answer's first character, and the index after its last."""
    bounds: list[tuple[int, int] | None] = []
    for row, (answer, context) in enumerate(zip(answers, contexts, strict=True)):
        if answer is None or is_missing(answer):
            bounds.append(None)
            continue
        try:
            text, start = answer[0], operator.index(answer[1])
            end = start + len(text)
        except (TypeError, LookupError):
            raise TypeError(f"answers[{row}] must be (text, first character) or None, got {answer!r}") from None
        there = context[max(start, 0) : max(end, 0)]
        if start < 0 or not text or there != text:
            raise ValueError(f"answers[{row}] must stand in its context at {start}, got {text!r}, there is {there!r}")
        bounds.append((start, end))
    return bounds
