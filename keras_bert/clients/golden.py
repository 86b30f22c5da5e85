"""Golden vectors: texts with their pieces, a file's numbers and the answers, which an app can be tested against."""

import dataclasses
from typing import Any

import numpy as np

from keras_bert.tasks.base import Features, Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.entities import are_entity_tags
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.token_classification import TokenClassification

# What tokenizers get wrong, and what people write. Nobody's data.
TEXTS = (
    "The small boat came back to the harbour before the storm.",
    "",
    "   ",
    "It wasn't cheap: $1,299.50 (incl. 20% VAT)!",
    "Ünïcödé, naïve café, Ærøskøbing and a STRAẞE.",
    "e\u0301 is two characters, zero\u200bwidth is none; tab\tand\nline.",
    "東京 and 한국어 stand beside Ελλάδα and Россия.",
    "Emoji 🙂👩‍👩‍👧 \ufffd and a [MASK] that is plain text.",
    "pneumono" * 12 + " is one word, " + "x" * 101 + " is too long for one.",
    "Ada Lovelace met Charles Babbage in London in 1833. " * 4,
)
SECONDS = (*TEXTS[1:], TEXTS[0])
_DIGITS = 6


def golden_rows(task: Task) -> list[dict[str, Any]]:
    """What a client has to get for each text.

    Args:
        task: asks an exported file.

    Returns:
        Of each `text` (the question, of answers) and, of pairs, `second`: `pieces` and `offsets` of all its pieces, in
        characters (Unicode code points), without special tokens; the model's inputs, cut to its longest row; `output`,
        the file's numbers for that row, of what runs along the tokens one list a token; and `answer`, what `predict`
        says, of vectors nothing more.
    """
    return [_golden(task, text, second) for text, second in _texts(task)]


def _texts(task: Task) -> list[tuple[str, str | None]]:
    if isinstance(task, QuestionAnswering):
        return list(zip(TEXTS, SECONDS, strict=True))
    singles = [(text, None) for text in TEXTS]
    # Of the other tasks a row may hold two texts, too.
    pairs = [] if isinstance(task, TokenClassification | Embedding) else list(zip(TEXTS, SECONDS, strict=True))
    return [*singles, *pairs]


def _golden(task: Task, text: str, second: str | None) -> dict[str, Any]:
    pair = None if second is None else [second]
    encoded = task.tokenizer.encode([text], pair, max_length=task.max_length, pad_to_longest=True)
    features: Features = {name: np.asarray(values) for name, values in encoded.items()}
    output = task.model.predict_on_batch(features)
    output = np.asarray(output[task.output_name] if isinstance(output, dict) else output)[0]
    ids, starts, ends = task.tokenizer.tokenize_with_offsets([text])
    return {
        "text": text,
        **({} if second is None else {"second": second}),
        "pieces": ids.to_list()[0],
        "offsets": [list(place) for place in zip(starts.to_list()[0], ends.to_list()[0], strict=True)],
        **{name: values[0].tolist() for name, values in features.items()},
        "output": np.round(output.astype("float64"), _DIGITS).tolist(),
        **_answer(task, text, pair),
    }


def _answer(task: Task, text: str, pair: list[str] | None) -> dict[str, Any]:
    if isinstance(task, Embedding) or (isinstance(task, TokenClassification) and not are_entity_tags(task.labels)):
        return {}
    found = task.predict([text]) if pair is None else task.predict([text], pair)
    return {"answer": _plain(found[0])}


def _plain(value: Any) -> Any:
    """Records as tables, numbers rounded; what is infinite, as JSON has it not, is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float | np.floating):
        return round(float(value), _DIGITS) if np.isfinite(value) else None
    return value
