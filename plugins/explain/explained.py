"""A text with the number of its answer that is explained."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

from keras_bert.tasks.base import Features, Task
from keras_bert.tasks.checks import as_texts
from keras_bert.tasks.targets import Target, UnexplainedRowError
from plugins.explain.tokens import Tokens


@dataclasses.dataclass(frozen=True)
class ExplainedRow:
    """A text or pair as a model reads it, and the number of the outputs that is explained.

    `features` are the model's inputs (1, length), `answer` the characters of the answer in its text, 0 and 0 for no
    answer; None where answers are not spans.
    """

    tokens: Tokens
    features: Features
    target: Target
    answer: tuple[int, int] | None

    @classmethod
    def of(cls, task: Task, text: str, choice: Any = None, pair: str | None = None) -> Self:
        """Encodes a text or pair, runs the model, and chooses a number of its outputs, see `Task.target`."""
        _check_task(task)
        texts = as_texts("text", [text]) + ([] if pair is None else as_texts("pair", [pair]))
        return cls._choose(task, *read_row(task, task.explained_texts(texts)), choice)

    def for_task(self, task: Task) -> Self:
        """The same number of another model of the same task for the same texts, which that model may split differently.

        If a long text has several rows, the row that shares the most text with this one is used.
        """
        _check_task(task)
        last = len(self.tokens.texts) - 1
        read = read_row(task, self.tokens.texts, self.tokens.characters_read(last))
        return self._choose(task, *read, self.choice_among(read[0]))

    def choice_among(self, words: Tokens) -> str | None:
        """The choice of this row's number by the words of another row."""
        target = self.target
        if target.word is None or target.choice_at is None:
            return target.choice
        numbers = dict(zip(*(numbers.tolist() for numbers in self.tokens.common_words(words)), strict=True))
        if target.word not in numbers:
            word, (start, end, _) = self.tokens.word_texts[target.word], self.tokens.word_offsets[target.word]
            rule = f"be read by both models, got {word!r} at characters {start} to {end}, which one does not read"
            raise UnexplainedRowError(f"target must {rule}")
        return target.choice_at(numbers[target.word])

    @classmethod
    def _choose(
        cls, task: Task, tokens: Tokens, features: Features, answer: tuple[int, int] | None, choice: Any
    ) -> Self:
        return cls(tokens, features, task.target(choice, task.forward(features)[0], tokens), answer)


def read_row(
    task: Task, texts: Sequence[str], characters: tuple[int, int] | None = None
) -> tuple[Tokens, Features, tuple[int, int] | None]:
    """Tokens of a text or pair in the row that `Task.read_row` reads, the model's inputs, and the answer's place."""
    row = task.read_row(texts, characters)
    tokens = Tokens.of(task.tokenizer, texts, max_length=task.max_length, parts=row.parts, answer=row.span)
    return tokens, row.features, row.answer


def _check_task(task: Task) -> None:
    if type(task).target is Task.target:
        # A model for pre-training needs further inputs: it is refused before it runs.
        task.target(None, None, Tokens.of(task.tokenizer, [""], max_length=task.max_length))
