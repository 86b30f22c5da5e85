"""Tasks on a file with text as input: the file tokenizes it and returns the offsets of words or tokens."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from keras_bert.export.runtimes import Array, Output
from keras_bert.export.text import TextModel
from keras_bert.export.text_inputs import ENDS, STARTS
from keras_bert.metrics.calibration import probabilities
from keras_bert.metrics.entities import OUTSIDE
from keras_bert.tasks.answer_spans import Answer, answers_of, best_of_rows, best_spans
from keras_bert.tasks.answer_windows import TokenizedTexts, Windows
from keras_bert.tasks.base import Features, Places, Task, take_row
from keras_bert.tasks.checks import as_sentences, as_texts, check_same_length
from keras_bert.tasks.entities import Entity, decode
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.token_classification import TokenClassification


class TextRuntime(TextModel):
    """Runs a file with text as input in place of a Keras model, see `Runtime`; longer texts are truncated."""

    name = "LiteRT"

    def __init__(self, path: str | os.PathLike[str], max_length: int, num_threads: int = 1) -> None:
        super().__init__(path, num_threads)
        self.max_length = max_length
        shapes = {name: shape for name, shape in self.shapes.items() if name not in (STARTS, ENDS)}
        outputs = {name: Output((None, *shape[1:])) for name, shape in shapes.items()}
        self.output = outputs.get("logits", outputs)

    def predict_on_batch(self, batch: Features) -> Any:
        """Refuses tokens."""
        raise ValueError(f"{self._path} takes text, not tokens: load a file of the model that takes token ids instead")


class _TextTask(Task):
    """A task on a model with text as input: each text is one row, truncated to `max_length`."""

    truncates = True

    def outputs(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        batch_size: int = 32,
        keep: Callable[[Any], Any] = lambda outputs: outputs,
    ) -> Iterator[Any]:
        """See `Task`; the file runs one text at a time with every `batch_size`."""
        texts = as_texts("texts", texts)
        outputs = self.model(texts, None if pairs is None else as_texts("pairs", pairs))
        kept = keep(outputs.get("logits", outputs))
        yield from (take_row(kept, row) for row in range(len(texts)))


class TextTagger(_TextTask, TokenClassification):
    """Token classification on a file with text as input; tags are at the first token of each word."""

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> list[list[Entity]]:
        texts = as_texts("texts", texts)
        rows = zip(texts, self._rows(texts), strict=True)
        return [decode(text, tags, likely, starts, ends) for text, (tags, likely, starts, ends) in rows]

    def predict_tags(self, words: Sequence[Sequence[str]], *, batch_size: int = 32) -> list[list[str]]:
        """The tag of each word of each sentence: the tag of its first token, `O` for truncated words."""
        answers, words = [], as_sentences("words", words)
        for sentence, (tags, _, starts, _) in zip(words, self._rows([" ".join(words) for words in words]), strict=True):
            firsts = np.cumsum([0, *(len(word) + 1 for word in sentence)])[:-1]
            tag_at = dict(zip(starts.tolist(), tags, strict=True))
            answers.append([tag_at.get(int(first), OUTSIDE) for first in firsts])
        return answers

    def _rows(self, texts: Sequence[str]) -> Iterator[tuple[list[str], Array, Array, Array]]:
        """Yields for each text the tags of its words, their probabilities, and the words' starts and ends."""
        outputs = self.model(texts)
        for logits, starts, ends in zip(outputs["logits"], outputs[STARTS], outputs[ENDS], strict=True):
            places = starts >= 0
            shares = probabilities(logits[places], self.calibration.temperature)
            tags = [self.labels[number] for number in shares.argmax(axis=1)]
            yield tags, shares.max(axis=1), starts[places], ends[places]


class TextQuestionAnswering(_TextTask, QuestionAnswering):
    """Question answering on a file with text as input; each context is truncated to one window."""

    def predict(self, questions: Sequence[str], contexts: Sequence[str], *, batch_size: int = 32) -> list[Answer]:
        questions, contexts = as_texts("questions", questions), as_texts("contexts", contexts)
        check_same_length("questions", questions, "contexts", contexts)
        outputs = self.model(questions, contexts)
        inside = outputs[STARTS] >= 0
        lengths = inside.sum(axis=1)
        rows, splits = np.arange(len(lengths)), np.cumsum([0, *lengths])
        starts, ends = outputs[STARTS][inside], outputs[ENDS][inside]
        # The file does not return token ids; the code below does not need them.
        tokens = TokenizedTexts(np.zeros_like(starts), starts, ends, splits)
        columns = inside.argmax(axis=1)
        windows = Windows(
            rows, rows, np.maximum(columns - self.tokenizer.special_count(2) + 1, 0), columns, splits[:-1], lengths
        )
        widest = np.append(np.repeat(rows, lengths), 0)
        spans = best_spans(outputs["logits"], windows, widest, self.max_answer_length)
        return answers_of(best_of_rows([spans], rows), tokens, contexts, self.null_threshold)


_WITH_PLACES: dict[Places, type[Task]] = {"words": TextTagger, "tokens": TextQuestionAnswering}


def find_text_task(task: type[Task]) -> type[Task]:
    """Returns the class of a task for files with text as input, given its class for files with token ids."""
    return _WITH_PLACES.get(task.places) or type(f"Text{task.__name__}", (_TextTask, task), {})
