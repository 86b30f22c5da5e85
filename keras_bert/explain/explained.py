"""A text with the number of its answer that is explained."""

import dataclasses
from typing import Any, Self

from keras_bert.checks import check
from keras_bert.explain.tokens import Tokens
from keras_bert.tasks.base import Features, Task
from keras_bert.tasks.checks import as_texts
from keras_bert.tasks.targets import Target


@dataclasses.dataclass(frozen=True)
class ExplainedRow:
    """A text or pair as a model reads it, and the number of the outputs that is explained.

    Attributes:
        tokens: the tokens.
        features: the model's inputs (1, length).
        target: the number.

    Examples:
        >>> row = ExplainedRow.of(task, "film film", "yes")
        >>> row.tokens.word_texts, row.target.name
        (('film', 'film'), 'yes')
    """

    tokens: Tokens
    features: Features
    target: Target

    @classmethod
    def of(cls, task: Task, text: str, choice: Any = None, pair: str | None = None) -> Self:
        """Encodes a text, runs the model, and chooses a number of its outputs.

        Args:
            task: a fine-tuned task, with any model that takes tokens.
            text: the text, or the first of a pair.
            choice: see `Task.target`; None for the number of the model's answer.
            pair: the second text of a pair.

        Raises:
            TypeError: a text is no string.
            ValueError: there is no such number, or the model is an exported file that takes text.
        """
        rule = "take tokens; a file that takes text has no token to replace: explain the file with tokens beside it"
        check("Task", "model", hasattr(task.model, "predict_on_batch"), rule, type(task.model).__name__)
        texts = as_texts("text", [text]) + ([] if pair is None else as_texts("pair", [pair]))
        tokens = Tokens.of(task.tokenizer, texts, max_length=task.max_length)
        features = task.encode(texts[:1], texts[1:] or None)
        return cls(tokens, features, task.target(choice, task.forward(features)[0], tokens))
