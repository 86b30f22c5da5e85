"""What all tasks share: a model with its tokenizer, from a user's texts to a user's answers."""

import abc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import keras
import numpy as np

from keras_bert.checks import check
from keras_bert.folders import ADAPTER_FOLDER, INPUT_NAMES, LOGITS, MODEL_FILE, TASK_FILE, staged_files
from keras_bert.models.encoder import config_of, encoder_of
from keras_bert.models.saving import save_model
from keras_bert.objectives.base import TaskObjective
from keras_bert.row_limits import rows_at_once
from keras_bert.tasks.adaptable import Adaptable
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.checks import as_texts, check_same_length

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

Features = dict[str, np.ndarray[Any, Any]]
Array = np.ndarray[Any, Any]

# Rows that are held in memory at once, and the step of the lengths that they are padded to: every new length is
# compiled anew.
ROWS_AT_ONCE = 4096
_LENGTH_STEP = 16


class Runtime(Protocol):
    """An exported file that answers in the place of a Keras model, as those of `keras_bert.export.runtimes` do.

    Attributes:
        name: of the runtime, for errors.
        max_length: the most tokens of a row.
        output: what is known of the outputs: something with a `shape`, or several of them by name.
    """

    name: str
    max_length: int
    output: Any

    def predict_on_batch(self, batch: Features) -> Any:
        """The outputs (batch, ...) for a batch of inputs."""


class Task(Adaptable):
    """A Keras model with a tokenizer, and the settings with which its outputs become answers.

    `model` is plain Keras: compile it with `loss()` and `metrics()`, fit it on what `examples` returns. An exported
    file may stand in its place, and answers alike; it cannot be trained or saved.

    Args:
        model: from the encoder's inputs to the task's outputs.
        tokenizer: with the vocabulary that the model was built for.
        max_length: the most tokens of a text or pair, special tokens included.

    Raises:
        ValueError: the vocabularies differ in size, or the model has fewer positions than `max_length`.
    """

    name: ClassVar[str]
    """The key in `TASKS`, and what `task.json` says."""

    pools: ClassVar[bool] = False
    """Whether the head stands on one vector for the whole text, so that `build` has a `pooling`."""

    cuts: ClassVar[bool] = True
    """Whether a text with more tokens than `max_length` loses its end; else it is read in several rows."""

    selected_by: ClassVar[str] = "validation_loss"
    """What held-out rows decide by while a model trains. Correlations, entities and answers are no sums over batches,
    and to decode them at every validation would cost more than they tell: the loss stands for them."""

    calibration = Calibration()
    """What tasks with labels make probabilities by; that of a pushed file stands beside it, or in it."""

    output_name: ClassVar[str] = LOGITS
    """What exported files call the output of `network`."""

    def __init__(self, model: "keras.Model | Runtime", tokenizer: "BaseTokenizer", *, max_length: int) -> None:
        self.model: Any = model
        self.tokenizer = tokenizer
        self.positions: int = model.max_length if not isinstance(model, keras.Model) else self._check_vocabulary()
        """The most tokens that the model can take."""
        rule = f"be between 3 and the model's {self.positions} positions"
        check(type(self).__name__, "max_length", 3 <= max_length <= self.positions, rule, max_length)
        self.max_length = int(max_length)

    def _check_vocabulary(self) -> int:
        config, pieces = config_of(self.model), self.tokenizer.vocabulary_size
        rule = f"hold as many pieces as the model's token embedding has rows, {config.vocabulary_size}"
        check(type(self).__name__, "tokenizer", pieces == config.vocabulary_size, rule, pieces)
        return config.max_length

    @property
    def encoder(self) -> keras.Model:
        """The encoder inside the model, weights shared: what other tasks are built on."""
        return encoder_of(self.model)

    def network(self) -> keras.Model:
        """The model with the one output that answers are made of: what is distilled, quantized and exported."""
        return self.model

    @classmethod
    @abc.abstractmethod
    def build(cls, *args: Any, **kwargs: Any) -> Self:
        """The task with a new head, of an encoder, a tokenizer, and the settings of the constructor and of the head."""

    def rebuilt(self, encoder: keras.Model) -> Self:
        """The same task on another encoder, with a new head."""
        return type(self).build(encoder, self.tokenizer, **self.settings(), **self.head())

    def head(self) -> dict[str, Any]:
        """How the head was built: what `build` takes besides the settings."""
        return {}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """How far two models give the same answers, row by row: (rows,) from 0 to 1.

        Args:
            reference: outputs of `network` (rows, ...).
            candidate: those of another one to the same rows.
            padding_mask: of the rows (rows, length).
        """
        same = np.asarray(reference).argmax(axis=-1) == np.asarray(candidate).argmax(axis=-1)
        if same.ndim == 1:
            return same.astype("float64")
        return (same * padding_mask).sum(axis=1) / np.maximum(padding_mask.sum(axis=1), 1)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments but the first two, as plain values for `task.json`."""
        return {"max_length": self.max_length}

    @abc.abstractmethod
    def loss(self) -> Any:
        """What `model.compile` takes as `loss`."""

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """What `Trainer` minimizes.

        Args:
            class_weights: how much each label weighs, in the order of the labels; None for all alike.

        Raises:
            ValueError: a weight is not positive and finite, the task has no labels, or it is pre-training.
        """
        self._refuse_class_weights(class_weights)
        raise ValueError(f"{self.name} has no labelled rows to train on; see keras_bert.objectives.{self.name}")

    def _refuse_class_weights(self, class_weights: Sequence[float] | None) -> None:
        rule = "be None where there are no labels"
        check(type(self).__name__, "class_weights", class_weights is None, rule, class_weights)

    def metrics(self) -> Any:
        """What `model.compile` takes as `metrics`."""
        return []

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Compiles the model with the task's loss and metrics; `kwargs` go to Keras."""
        self._compile(self.model, optimizer, **kwargs)

    def _compile(self, model: keras.Model, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        # Its first step would make the optimizer's variables, and TensorFlow then traces the step again without that.
        optimizer.build(model.trainable_variables)
        model.compile(optimizer=optimizer, loss=self.loss(), metrics=self.metrics(), **kwargs)

    @abc.abstractmethod
    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """What a user gets who asks about texts, or about pairs of them."""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `model.keras`, `vocab.txt`, `tokenizer.json` and `task.json`; all of them or none.

        An adapter that is not merged stands beside them, in the folder `adapter`.
        """
        with staged_files(Path(folder)) as staging:
            with self._adapted(False):
                save_model(self.model, staging / MODEL_FILE)
            self.save_settings(staging, adapted=self.adapter is not None)
            if self.adapter is not None:
                self.save_adapter(staging / ADAPTER_FOLDER)

    def save_settings(self, folder: str | os.PathLike[str], *, adapted: bool = False) -> None:
        """Writes all but the model into an existing folder: `vocab.txt`, `tokenizer.json` and `task.json`.

        Args:
            folder: where to.
            adapted: whether an adapter stands beside the model; exported files have it in their graphs.
        """
        self.tokenizer.save(folder)
        content = {"task": self.name, **self.settings(), **({"adapted": True} if adapted else {})}
        (Path(folder) / TASK_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")

    @classmethod
    def from_settings(
        cls, model: "keras.Model | Runtime", tokenizer: "BaseTokenizer", settings: Mapping[str, Any]
    ) -> Self:
        """The task as `settings` described it."""
        return cls(model, tokenizer, **settings)

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Features:
        """The model's inputs (rows, longest row), int32.

        Raises:
            TypeError: a text is no string.
            ValueError: there are no texts, or not as many pairs as texts.
        """
        return self._encode(*_as_rows(texts, pairs))

    def _encode(self, texts: list[str], pairs: list[str] | None) -> Features:
        encoded = self.tokenizer.encode(texts, pairs, max_length=self.max_length, pad_to_longest=True)
        return {name: np.asarray(value) for name, value in encoded.items()}

    def count_tokens(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[int]:
        """The tokens of each text or pair, special ones included, before any are cut.

        Raises:
            TypeError: a text is no string.
            ValueError: there are no texts, or not as many pairs as texts.
        """
        firsts, seconds = _as_rows(texts, pairs)
        sides = [firsts] if seconds is None else [firsts, seconds]
        special = self.tokenizer.special_count(len(sides))
        pieces = [np.asarray(self.tokenizer.tokenize(side).row_lengths()) for side in sides]
        return [int(count) + special for count in np.sum(pieces, axis=0)]

    def outputs(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        batch_size: int = 32,
        keep: Callable[[Any], Any] = lambda outputs: outputs,
    ) -> Iterator[Any]:
        """The model's outputs for each text in turn, see `forward`.

        Raises:
            TypeError: a text is no string.
            ValueError: there are no texts, or not as many pairs as texts.
        """
        firsts, seconds = _as_rows(texts, pairs)
        for part in slices(len(firsts), ROWS_AT_ONCE):
            features = self._encode(firsts[part], None if seconds is None else seconds[part])
            yield from self.forward(features, batch_size, keep)

    def forward(
        self, features: Features, batch_size: int = 32, keep: Callable[[Any], Any] = lambda outputs: outputs
    ) -> list[Any]:
        """The model's outputs for each row of `features` in turn; rows of like length go together.

        Args:
            features: the model's inputs (rows, length); further ones, as `mask_positions`, go along, and what the model
                does not take is left out.
            batch_size: rows a batch; fewer of rows with more than 512 tokens.
            keep: what of a batch's outputs is needed: the rest is not held in memory.

        Returns:
            One entry a row: what `keep` returns, without the batch axis. What runs along the tokens is as long as the
            batch was; `padding_mask` says which entries are the row's own.
        """
        check(type(self).__name__, "batch_size", batch_size >= 1, "be at least 1", batch_size)
        lengths = features["padding_mask"].sum(axis=1)
        answers: list[Any] = [None] * len(lengths)
        batch_size = rows_at_once(batch_size, int(lengths.max(initial=0)))
        order = np.argsort(-lengths, kind="stable")
        # A file's runtime takes its own.
        names = [spec.name for spec in self.model.inputs] if isinstance(self.model, keras.Model) else list(features)
        with self._adapted():
            for chosen in np.array_split(order, range(batch_size, len(order), batch_size)):
                batch = _take_rows(features, chosen, int(lengths[chosen].max()), self.positions)
                outputs = keep(self.model.predict_on_batch({name: batch[name] for name in names}))
                for place, row in enumerate(chosen):
                    answers[row] = keras.tree.map_structure(lambda output, place=place: output[place], outputs)
        return answers


def _as_rows(texts: Sequence[str], pairs: Sequence[str] | None) -> tuple[list[str], list[str] | None]:
    firsts = as_texts("texts", texts)
    if pairs is None:
        return firsts, None
    seconds = as_texts("pairs", pairs)
    check_same_length("texts", firsts, "pairs", seconds)
    return firsts, seconds


def slices(rows: int, at_once: int) -> list[slice]:
    """The first `at_once` rows, the next, and so on to the last."""
    return [slice(start, start + at_once) for start in range(0, rows, at_once)]


def pad_rows(rows: Sequence[Sequence[int]], filling: int) -> Array:
    """Rows of numbers -> (rows, longest row) int32."""
    padded = np.full((len(rows), max((len(row) for row in rows), default=0)), filling, "int32")
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return padded


def _take_rows(features: Features, chosen: Array, longest: int, most: int) -> Features:
    """Some of the rows, those inputs that run along the tokens cut or padded to a multiple of the length step."""
    width = min(-(-longest // _LENGTH_STEP) * _LENGTH_STEP, most)
    batch = {name: array[chosen] for name, array in features.items()}
    for name in INPUT_NAMES:
        rows = batch[name][:, :width]
        batch[name] = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
    return batch
