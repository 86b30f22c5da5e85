"""Labelled rows of each task as the records of TaskExamples; the features are those of `keras_bert.tasks`."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from components.dsl.errors import InputError
from components.sources.conll import Sentence
from components.sources.squad import Question
from components.sources.table import Row

if TYPE_CHECKING:
    from keras_bert.tasks.answer_windows import Pieces
    from keras_bert.tokenizers.tokenizer import Tokenizer

_PAIR = {
    "token_ids": "int64, (length,): [CLS] text [SEP], or [CLS] text [SEP] second text [SEP]; not padded",
    "segment_ids": "int64, (length,): 0 up to the first [SEP], then 1",
}
_TEXTS = {"text": "bytes, UTF-8", "second_text": "bytes, UTF-8, empty where there is none"}
FEATURES: dict[str, dict[str, str]] = {
    "classification": {**_PAIR, **_TEXTS, "label": "int64: place in labels.json"},
    "regression": {**_PAIR, **_TEXTS, "value": "float32"},
    "token_classification": {
        "token_ids": "int64, (length,): [CLS] words [SEP]; not padded",
        "segment_ids": "int64, (length,): 0",
        "label": "int64, (length,): place in labels.json at the first piece of a word, -1 elsewhere",
        "row": "int64: the sentence, from 0, in the split's .jsonl.gz; a long one has several records",
    },
    "question_answering": {
        "token_ids": "int64, (length,): [CLS] question [SEP] part of the context [SEP]; not padded",
        "segment_ids": "int64, (length,): 0 up to the first [SEP], then 1",
        "positions": "int64, (2,): the tokens where the answer starts and ends; 0 where the part does not hold it",
        "row": "int64: the question, from 0, in the split's .jsonl.gz; a long context gives several records",
    },
}
_ROWS_AT_ONCE = 1024


def serialize_labelled(
    rows: Sequence[Row], labels: Sequence[str], tokenizer: "Tokenizer", max_length: int, cut: Counter[bool]
) -> Iterator[bytes]:
    """Records of a classification; `cut` counts which rows were too long."""
    from keras_bert.data.records import serialize

    label_ids = {label: number for number, label in enumerate(labels)}
    for row, features in _encode_rows(rows, tokenizer, max_length, cut):
        yield serialize({**features, "label": [label_ids[row.label]]})


def serialize_numbers(
    rows: Sequence[Row], tokenizer: "Tokenizer", max_length: int, cut: Counter[bool]
) -> Iterator[bytes]:
    """Records of a regression; `cut` counts which rows were too long."""
    import tensorflow as tf

    from keras_bert.data.records import serialize

    for row, features in _encode_rows(rows, tokenizer, max_length, cut):
        example = tf.train.Example.FromString(serialize(features))
        example.features.feature["value"].float_list.value.append(float(row.label))
        yield example.SerializeToString(deterministic=True)


def serialize_sentences(
    sentences: Sequence[Sentence], labels: Sequence[str], tokenizer: "Tokenizer", max_length: int
) -> Iterator[bytes]:
    """Records of a token classification, as `TokenClassification.examples` has them."""
    import numpy as np

    from keras_bert.losses import IGNORED
    from keras_bert.tasks.word_rows import Words, pack_words

    label_ids = {label: number for number, label in enumerate(labels)}
    for start in range(0, len(sentences), _ROWS_AT_ONCE):
        part = sentences[start : start + _ROWS_AT_ONCE]
        pieces = tokenizer.tokenize([word for sentence in part for word in sentence.words])
        splits = np.cumsum([0, *(len(sentence.words) for sentence in part)])
        words = Words(np.asarray(pieces.flat_values), np.asarray(pieces.row_lengths()), splits)
        rows = pack_words(words, max_length - 2)
        inputs = rows.model_inputs(cls_id=tokenizer.cls_id, sep_id=tokenizer.sep_id, pad_id=tokenizer.pad_id)
        numbers = np.array([label_ids[tag] for sentence in part for tag in sentence.tags])
        label = np.full(inputs["token_ids"].shape, IGNORED)
        label[rows.row, rows.column + 1] = numbers[rows.word]
        # Each row has a word with pieces, and all its words are of one sentence.
        first = np.unique(rows.row, return_index=True)[1]
        sentence_ids = start + np.searchsorted(splits, rows.word[first], side="right") - 1
        yield from _serialize_padded(inputs, {"label": label}, {"row": sentence_ids})


def serialize_questions(
    questions: Sequence[Question], tokenizer: "Tokenizer", *, max_length: int, stride: int, max_query_length: int
) -> Iterator[bytes]:
    """Records of windows, as `QuestionAnswering.examples` has them; of several answers the first one counts.

    Raises:
        InputError: an answer holds no word piece.
    """
    from keras_bert.tasks.answer_windows import Pieces, answer_positions, cut_windows, window_features

    for start in range(0, len(questions), _ROWS_AT_ONCE):
        part = questions[start : start + _ROWS_AT_ONCE]
        asked = Pieces.of(tokenizer, [question.question for question in part])
        contexts = Pieces.of(tokenizer, [question.context for question in part])
        windows = cut_windows(asked, contexts, max_length=max_length, stride=stride, max_query_length=max_query_length)
        spans = _find_answers(part, contexts)
        inputs = window_features(asked, contexts, windows, tokenizer)
        positions = answer_positions(spans, windows)
        yield from _serialize_padded(inputs, {}, {"positions": positions, "row": start + windows.rows})


def _encode_rows(
    rows: Sequence[Row], tokenizer: "Tokenizer", max_length: int, cut: Counter[bool]
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Each row with the features that do not depend on the label."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        texts = [row.text for row in part]
        pairs = [row.second_text or "" for row in part] if part[0].second_text is not None else None
        encoded = {name: value.numpy() for name, value in tokenizer.encode(texts, pairs, max_length=max_length).items()}
        whole = tokenizer.tokenize(texts).row_lengths() + (2 if pairs is None else 3)
        whole = (whole if pairs is None else whole + tokenizer.tokenize(pairs).row_lengths()).numpy()
        for number, (row, length) in enumerate(zip(part, encoded["padding_mask"].sum(axis=1), strict=True)):
            cut[bool(whole[number] > length)] += 1
            yield (
                row,
                {
                    "token_ids": encoded["token_ids"][number, :length].tolist(),
                    "segment_ids": encoded["segment_ids"][number, :length].tolist(),
                    "text": row.text.encode(),
                    "second_text": (row.second_text or "").encode(),
                },
            )


def _find_answers(questions: Sequence[Question], contexts: "Pieces") -> Any:
    """The first and the last piece of each question's first answer, (questions, 2); -1 where there is none."""
    import numpy as np

    from keras_bert.tasks.answer_windows import find_pieces

    spans = []
    for row, question in enumerate(questions):
        text, start = question.answers[0] if question.answers else ("", 0)
        own = dataclasses.replace(contexts, splits=contexts.splits[row : row + 2])
        try:
            spans.append(find_pieces(own, [(start, start + len(text)) if text else None]))
        except ValueError:
            rule = f"the answer {text!r} must hold a word piece, got only what the tokenizer leaves out"
            raise InputError(f"question {question.id!r}: {rule}") from None
    return np.concatenate(spans)


def _serialize_padded(inputs: dict[str, Any], along: dict[str, Any], beside: dict[str, Any]) -> Iterator[bytes]:
    """Records of padded arrays: `along` are as long as the tokens, `beside` are not."""
    from keras_bert.data.records import serialize

    columns = {"token_ids": inputs["token_ids"], "segment_ids": inputs["segment_ids"], **along}
    for number, length in enumerate(inputs["padding_mask"].sum(axis=1)):
        features = {name: values[number, :length].tolist() for name, values in columns.items()}
        yield serialize({**features, **{name: values[number].reshape(-1).tolist() for name, values in beside.items()}})
