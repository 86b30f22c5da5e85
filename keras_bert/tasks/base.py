"""The base class of tasks: a model with its tokenizer, from texts to answers."""

from __future__ import annotations

import abc
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np

from keras_bert.core.checks import as_list, check
from keras_bert.core.folders import (
    ADAPTER_FOLDER,
    INPUT_NAMES,
    LOGITS,
    MODEL_FILE,
    QUANTIZATION_FILE,
    TASK_FILE,
    staged_files,
)
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.tasks.adaptable import Adaptable
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.calibration import Calibration, calibration_of, read_calibration
from keras_bert.tasks.checks import as_texts, check_keras_model, check_same_length, is_keras_model
from keras_bert.tasks.targets import AnswerRow, RowWords, Target

if TYPE_CHECKING:
    import keras

    from keras_bert.data.schemas import Feature
    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

Features = dict[str, np.ndarray[Any, Any]]
Array = np.ndarray[Any, Any]
SecondText = Literal["optional", "required", "unused", "compared"]
Link = Literal["softmax", "sigmoid", "identity"]
Places = Literal["none", "words", "tokens"]
"""The character places that accompany a model's outputs in a file that takes text: of words, at the first token of
each; of the tokens of the last text; or none."""

# The number of rows that are in memory at once.
ROWS_AT_ONCE = 4096
# Rows are padded to multiples of this length, since each new length is compiled again.
_LENGTH_STEP = 16


class Runtime(Protocol):
    """An exported file in place of a Keras model, see `keras_bert.export.runtimes`; `output` is shaped as Keras' is."""

    name: str
    max_length: int
    output: Any

    def predict_on_batch(self, batch: Features) -> Any:
        """The outputs (batch, ...) for a batch of inputs."""


class Task(Adaptable, abc.ABC):
    """A Keras model with a tokenizer, and the settings that turn its outputs into answers.

    `model` is plain Keras: compile it with `loss()` and `metrics()`, and fit it on the result of `examples`. An
    exported file in its place gives the same answers; it cannot be trained or saved.

    All methods that take texts raise TypeError if a text is not a string. They raise ValueError if there are no texts,
    or if the number of labels, second texts or other columns differs from the number of texts.

    Args:
        model: a model from the encoder's inputs to the task's outputs, or an exported file.
        tokenizer: the tokenizer with the model's vocabulary.
        max_length: maximum number of tokens of a text or pair, special tokens included.

    Raises:
        ValueError: the vocabularies differ in size, or the model has fewer positions than `max_length`.

    Examples:
        >>> task.name, task.max_length, task.count_tokens(["film film"])
        ('classification', 16, [4])
        >>> task.encode(["film film"])["token_ids"].tolist()
        [[2, 5, 5, 3]]
        >>> task.save("sentiment")  # keras_bert.load("sentiment") reads it
    """

    name: ClassVar[str]
    """The key in `TASKS`, in `task.json` and in `features.json`."""

    schema: ClassVar[Mapping[str, Feature]]
    """The features of the records of a registered task; `SCHEMAS` has those of the built-in tasks."""

    needs_pooling: ClassVar[bool] = False
    """Whether the head reads one vector for the whole text, so that `build` has an argument `pooling`."""

    truncates: ClassVar[bool] = True
    """Whether a text with more tokens than `max_length` is truncated; if not, it is read in several rows."""

    second_text: ClassVar[SecondText] = "optional"
    """How the task uses a second text: the model reads single texts and pairs (`optional`), only pairs (`required`) or
    only single texts (`unused`); or it reads each text of a pair by itself, and the answer compares the two
    (`compared`)."""

    second_name: ClassVar[str] = "second text of each pair"
    """The name of second texts, for errors."""

    learns_from_texts: ClassVar[bool] = False
    """Whether texts without labels are rows that a teacher can label."""

    library_task: ClassVar[str] = ""
    """The name that other libraries give to this task; empty if it equals `name`."""

    places: ClassVar[Places] = "none"
    """The character positions that an exported file which takes text returns in addition to the outputs."""

    float_layers: ClassVar[tuple[str, ...]] = ()
    """Paths of the layers that stay float in every quantization recipe."""

    selected_by: ClassVar[tuple[str, ...]] = ("validation_loss",)
    """The metrics of validation rows whose mean selects a checkpoint. Correlations, entities and answers are not sums
    over batches, and decoding them at every validation is expensive: these tasks select by the loss."""

    independent_labels: ClassVar[bool] = False
    """Whether a text may have several labels, each with its own probability: sigmoids instead of a softmax."""

    link: ClassVar[Link | None] = None
    """What makes answers of the outputs of a head that is a linear model of vectors, see
    `keras_bert.training.new_head`; None for other heads."""

    calibration = Calibration()
    """Temperature and threshold of tasks with labels. A pushed file has its calibration beside it, or in it; `save` and
    `export` keep that of an instance."""

    pairs: bool | None = None
    """Whether the task was trained on pairs of texts or on single ones; None if that is unknown."""

    drawn_weights: Mapping[str, Array] = {}
    """The random weights of a head that `build` made, by path; `keras_bert.fit` draws them again by its seed."""

    label_name: ClassVar[str] = "label"
    """The name of the labels in rows for training."""

    tunes: bool = False
    """Whether `tune` has a setting to choose, such as a threshold."""

    tuned_by: ClassVar[Literal["train", "validation"]] = "validation"
    """The rows that `tune` reads."""

    labels: tuple[str, ...] = ()
    """The names of the labels, in the order of the logits; empty for tasks without labels."""

    _quantization: Any = None

    page_scripts: ClassVar[tuple[Path, ...]] = ()
    """JavaScript files that show the task's answers on the page of a pushed model, where `page.js` does not. They
    follow `page.js` in one module, and set `TASKS[name]`."""

    output_name: ClassVar[str] = LOGITS
    """The name of the output of `network` in exported files."""

    has_own_head: ClassVar[bool] = True
    """Whether the head calls no layer of the encoder, so that other tasks can have their heads beside it."""

    marks_rows: ClassVar[bool] = False
    """Whether the task adds tokens to the rows of `encode`. Exported files that take text do not add them."""

    has_parts: ClassVar[bool] = False
    """Whether the task is made of others, which `part` returns."""

    def __init__(self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, max_length: int) -> None:
        self.model: Any = model
        self.tokenizer = tokenizer
        config: Any = model
        if is_keras_model(model):
            from keras_bert.models.encoder import config_of

            config, entries = config_of(model), tokenizer.vocabulary_size
            rule = f"have as many vocabulary entries as the model's token embedding has rows, {config.vocabulary_size}"
            check(type(self).__name__, "tokenizer", entries == config.vocabulary_size, rule, entries)
        self.positions: int = config.max_length
        """The maximum number of tokens of the model."""
        rule = f"be between 3 and the model's {self.positions} positions"
        check(type(self).__name__, "max_length", 3 <= max_length <= self.positions, rule, max_length)
        self.max_length = int(max_length)

    @property
    def encoder(self) -> keras.Model:
        """The encoder inside the model, with shared weights; other tasks can be built on it.

        By default such tasks pool as this task does, and normalize vectors to length 1 if this task does.
        """
        from keras_bert.models.encoder import encoder_of

        check_keras_model(self, "taken apart")
        encoder = encoder_of(self.model)
        encoder.pooling, encoder.normalize = self.head().get("pooling"), getattr(self, "normalize", None)
        encoder.projections = next((layer for layer in self.model.layers if layer.name == "projections"), None)
        encoder.origin = self
        return encoder

    @property
    def quantization(self) -> Any:
        """The recipe and ranges of a model that `keras_bert.quantize` quantized, which `export` writes; else None."""
        return self._quantization

    @quantization.setter
    def quantization(self, quantization: Any) -> None:
        self._quantization = quantization
        if (attachments := self._attachments()) is not None:
            (attachments.quantized.discard if quantization is None else attachments.quantized.add)(self)

    def network(self) -> keras.Model:
        """The model with the one output that answers are decoded from; it is distilled, quantized and exported."""
        return self.model

    def part(self, name: str) -> Task:
        """A task inside of a task that is made of several.

        Raises:
            ValueError: there is no such task inside.
        """
        raise ValueError(f"task must be left out for {self.name}, which has no tasks inside, got {name!r}")

    def read_calibration(self, file: Path) -> None:
        """Takes the calibration from a pushed model's `metrics.json`."""
        self.calibration = read_calibration(file)

    def transformers_model(self) -> keras.Model:
        """The model that gives the outputs that `transformers_outputs` renames."""
        return self.network()

    def transformers_outputs(self, outputs: Any) -> dict[str, Any]:
        """The outputs of `transformers_model` by the names that transformers gives to them."""
        return {LOGITS: outputs}

    @classmethod
    @abc.abstractmethod
    def build(cls, *args: Any, **kwargs: Any) -> Self:
        """Builds the task with a new head on an encoder, from the settings of the constructor and of the head."""

    def start_scale(self, labels: Array, rows: Mapping[str, Array]) -> None:
        """Gives a head of numbers the scale of its training rows, if it has none; other heads have no scale.

        `rows` are the model's inputs.
        """

    def _with_drawn_weights(self, encoder: keras.Model) -> Self:
        """This task, with the random weights of its new head noted."""
        inside = {id(weight) for weight in encoder.weights}
        new = (weight for weight in self.model.trainable_weights if id(weight) not in inside)
        self.drawn_weights = {weight.path: weight.numpy() for weight in new if len(weight.shape) > 1}
        return self

    def rebuilt(self, encoder: keras.Model) -> Self:
        """The same task on another encoder, with a new head."""
        task = type(self).build(encoder, self.tokenizer, **self.settings(), **self.head())
        task.pairs = self.pairs
        return task

    def head(self) -> dict[str, Any]:
        """The head's settings: arguments of `build` that `settings` does not hold."""
        return {}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """The agreement, row by row, of two models' answers from their outputs (rows, ...): (rows,) from 0 to 1.

        `padding_mask` is 1 for a token, 0 for padding (rows, length).
        """
        same = np.asarray(reference).argmax(axis=-1) == np.asarray(candidate).argmax(axis=-1)
        if same.ndim == 1:
            return same.astype("float64")
        return (same * padding_mask).sum(axis=1) / np.maximum(padding_mask.sum(axis=1), 1)

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments after the first two, as plain values for `task.json`."""
        return {"max_length": self.max_length, **({"labels": list(self.labels)} if self.labels else {})}

    @abc.abstractmethod
    def loss(self) -> Any:
        """The `loss` for `model.compile`."""

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """The objective that `Trainer` minimizes.

        Args:
            class_weights: weights of the labels, in their order; None for equal weights.

        Raises:
            ValueError: a weight is not positive and finite, the task has no labels, or it is pre-training.
        """
        self._refuse_class_weights(class_weights)
        raise ValueError(f"{self.name} has no labelled rows to train on; see keras_bert.objectives.{self.name}")

    def _refuse_class_weights(self, class_weights: Sequence[float] | None) -> None:
        rule = "be None for a task without labels"
        check(type(self).__name__, "class_weights", class_weights is None, rule, class_weights)

    def metrics(self) -> Any:
        """The `metrics` for `model.compile`."""
        return []

    def training_rows(self, *data: Any, **pairs: Sequence[str]) -> dict[str, Array]:
        """The rows that `objective` reads, made from the arguments of `examples`: inputs (rows, length) and labels."""
        features, labels = self.examples(*data, **pairs)  # type: ignore[attr-defined]
        return {**features, self.label_name: labels}

    def fit(self, *data: Any, **options: Any) -> Any:
        """Trains the model on rows in memory with good defaults, see `keras_bert.fit`; needs TensorFlow."""
        # Tasks may not import the trainer, so that pipeline steps that only predict do not depend on its code.
        import keras_bert

        return keras_bert.fit(self, *data, **options)

    def tune(self, *columns: Any) -> None:
        """Chooses a setting of a trained task, if it `tunes` one, on other rows; columns are those of `examples`."""

    def export(self, path: str | os.PathLike[str], texts: Sequence[str] = (), **options: Any) -> None:
        """Writes the model as a `.tflite` or `.onnx` file that `keras_bert.load` reads, see `keras_bert.export_task`.

        Examples:
            >>> task.export("sentiment.onnx")
            >>> [answer.label in task.labels for answer in keras_bert.load("sentiment.onnx").predict(["film"])]
            [True]
        """
        import keras_bert

        keras_bert.export_task(self, path, texts, **options)

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Compiles the model with the task's loss and metrics; `kwargs` go to Keras.

        Raises:
            ValueError: the task's adapter is detached, so that the encoder would be trained in its place; or the model
                is an exported file.
        """
        check_keras_model(self, "trained")
        self._compile(self.model, optimizer, **kwargs)

    def _compile(self, model: keras.Model, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        from keras_bert.models.traces import check_attached

        check_attached(model)
        # Otherwise the first step makes the optimizer's variables, and TensorFlow traces the step a second time.
        optimizer.build(model.trainable_variables)
        model.compile(optimizer=optimizer, loss=self.loss(), metrics=self.metrics(), **kwargs)

    @abc.abstractmethod
    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """The answers for texts, or for pairs of texts."""

    @property
    def predicts_records(self) -> bool:
        """Whether `predict` gives each text a label, a number or a dataclass, which golden rows hold as `answer`."""
        return True

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """The names and types of the columns of a table of answers; `paired` says that texts are pairs.

        Raises:
            ValueError: the task has no answers to show.
        """
        raise ValueError(f"{type(self).__name__} must be fine-tuned to answer, got a model for {self.name}")

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """Predicts, and yields for each text the values of `answer_columns`.

        Raises:
            ValueError: the task has no answers to show.
        """
        raise ValueError(f"{type(self).__name__} must be fine-tuned to answer, got a model for {self.name}")

    def answer_fields(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[str, ...]]:
        """Predicts, and yields the fields of each line that a terminal shows; raises as `answer_values` does."""
        texts, seconds = as_list("texts", texts), None if seconds is None else as_list("seconds", seconds)
        rows: Iterable[tuple[str, ...]] = zip(texts) if seconds is None else zip(texts, seconds, strict=True)
        return itertools.chain.from_iterable(map(self.format_answer, self.answer_values(texts, seconds), rows))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
        """The lines for the values of one answer: the answer as it is shown, then the text or both texts."""
        return [(*map(str, values), *texts)]

    def target(self, choice: Any, outputs: Any, row: RowWords) -> Target:
        """The scalar of the outputs that an attribution explains.

        Args:
            choice: which scalar, see the task; None for the one that the model's answer is based on.
            outputs: the outputs of the row, without the batch axis.
            row: the words of the row.

        Raises:
            TypeError: the choice has the wrong type.
            ValueError: there is no such scalar, or the task has no scalar that can be chosen.
        """
        raise ValueError(f"{type(self).__name__} must be fine-tuned to be explained, got a model for {self.name}")

    @classmethod
    def find_explanation_obstacle(cls, settings: Mapping[str, Any]) -> str | None:
        """The reason why no task with these `settings` has a `target`, without a full stop; None for no reason."""
        return None

    def explained_texts(self, texts: Sequence[str]) -> list[str]:
        """One text or two as the model reads them to answer, with the prompt in front of them if it has one."""
        return list(texts)

    def read_row(self, texts: Sequence[str], characters: tuple[int, int] | None = None) -> AnswerRow:
        """The row of a text or pair that the model's answer comes from: tasks that read texts in parts override it.

        Args:
            texts: one text, or the two of a pair.
            characters: the start and end of a part of the last text; if the text has several rows, the row with the
                most of this part is returned instead of the row with the answer.
        """
        return AnswerRow(self.encode(texts[:1], texts[1:] or None))

    def _format_label(self, label: str, probability: float) -> str:
        return label if self.calibration.is_sure(probability) else f"not sure ({label})"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes `model.keras`, `vocab.txt`, `tokenizer.json` and `task.json`; all of them or none.

        An adapter that is not merged is written to the folder `adapter` inside.

        Raises:
            ValueError: the model is an exported file.
        """
        from keras_bert.models.saving import save_model

        check_keras_model(self, "saved")
        with staged_files(Path(folder)) as staging:
            with self._attached(None):
                save_model(self.model, staging / MODEL_FILE)
            self.save_settings(staging, adapted=self.adapter is not None)
            if self.adapter is not None:
                self.save_adapter(staging / ADAPTER_FOLDER)
            if self.quantization is not None:
                self.quantization.save(staging)
        if self.quantization is None:
            # The file may be left from a model that was saved there before.
            (Path(folder) / QUANTIZATION_FILE).unlink(missing_ok=True)

    def save_adapter(self, folder: str | os.PathLike[str]) -> None:
        """Writes the adapter and the head, without the encoder; `load_adapter` reads them.

        Raises:
            ValueError: the task has no adapter.
        """
        from keras_bert.adaptation.files import write_adapter

        settings = {"task": self.name, **self.settings(), **self.head(), **self.learned_settings()}
        write_adapter(self._required_adapter("saved"), Path(folder), settings)

    def save_settings(self, folder: str | os.PathLike[str], *, adapted: bool = False) -> None:
        """Writes all files but the model into an existing folder: `vocab.txt`, `tokenizer.json` and `task.json`.

        With `adapted`, the folder has an adapter beside the model; exported files hold it in their graphs.
        """
        self.tokenizer.save(folder)
        adapter = {"adapted": True} if adapted else {}
        content = {"task": self.name, **self.settings(), **self.learned_settings(), **adapter}
        (Path(folder) / TASK_FILE).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")

    def learned_settings(self) -> dict[str, Any]:
        """`pairs` and `calibration`, where they are known, as plain values for `task.json` and `adapter.json`."""
        learned: dict[str, Any] = {} if self.pairs is None else {"pairs": self.pairs}
        if self.calibration != Calibration():
            numbers = self.calibration._asdict().items()
            learned["calibration"] = {name: float(number) for name, number in numbers if number is not None}
            calibration_of(learned["calibration"], Path(TASK_FILE))  # refuses what could not be read again
        return learned

    @classmethod
    def from_settings(cls, model: keras.Model | Runtime, tokenizer: BaseTokenizer, settings: Mapping[str, Any]) -> Self:
        """The task with the settings that `settings` returned."""
        return cls(model, tokenizer, **settings)

    def encode(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Features:
        """Tokenizes texts or pairs into the model's inputs (rows, longest row), int32."""
        return self._encode(*_as_rows(texts, pairs))

    def _encode(self, texts: list[str], pairs: list[str] | None) -> Features:
        encoded = self.tokenizer.encode(texts, pairs, max_length=self.max_length, pad_to_longest=True)
        return {name: np.asarray(value) for name, value in encoded.items()}

    def count_tokens(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[int]:
        """The number of tokens of each text or pair, special tokens included, before truncation."""
        firsts, seconds = _as_rows(texts, pairs)
        sides = [firsts] if seconds is None else [firsts, seconds]
        special = self.tokenizer.special_count(len(sides))
        counts = [np.asarray(self.tokenizer.tokenize(side).row_lengths()) for side in sides]
        return [int(count) + special for count in np.sum(counts, axis=0)]

    def outputs(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        *,
        batch_size: int = 32,
        keep: Callable[[Any], Any] = lambda outputs: outputs,
    ) -> Iterator[Any]:
        """Yields the model's outputs for each text, see `forward`."""
        firsts, seconds = _as_rows(texts, pairs)
        for part in slices(len(firsts), ROWS_AT_ONCE):
            features = self._encode(firsts[part], None if seconds is None else seconds[part])
            yield from self.forward(features, batch_size, keep)

    def forward(
        self, features: Features, batch_size: int = 32, keep: Callable[[Any], Any] = lambda outputs: outputs
    ) -> list[Any]:
        """Runs the model on rows, in batches of rows of similar length.

        Args:
            features: the model's inputs (rows, length), and others such as `mask_positions`; entries that are not
                inputs of the model are left out.
            batch_size: rows of a batch; batches of rows with more than 512 tokens are smaller.
            keep: selects the outputs of a batch that are held in memory.

        Returns:
            One entry a row: the result of `keep` without the batch axis. Outputs for each token have the length of the
            padded batch; `padding_mask` says which of them are padding.
        """
        check(type(self).__name__, "batch_size", batch_size >= 1, "be at least 1", batch_size)
        with self._answering():
            return run_rows(self.model, features, self.positions, batch_size, keep)


def run_rows(
    model: Any,
    features: Features,
    positions: int,
    batch_size: int = 32,
    keep: Callable[[Any], Any] = lambda outputs: outputs,
) -> list[Any]:
    """Runs a Keras model or an exported file on rows as `Task.forward` does, with the adapter that is attached."""
    lengths = features["padding_mask"].sum(axis=1)
    answers: list[Any] = [None] * len(lengths)
    batch_size = limit_batch_size(batch_size, int(lengths.max(initial=0)))
    order = np.argsort(-lengths, kind="stable")
    names = list(features)  # the runtime of a file selects its inputs itself
    if is_keras_model(model):
        from keras_bert.models.traces import expect_traces

        names = [spec.name for spec in model.inputs]
        expect_traces(model)
    for chosen in np.array_split(order, range(batch_size, len(order), batch_size)):
        batch = pad_batch(features, chosen, int(lengths[chosen].max()), positions)
        outputs = keep(model.predict_on_batch({name: batch[name] for name in names}))
        for index, row in enumerate(chosen):
            answers[row] = take_row(outputs, index)
    return answers


def take_row(outputs: Any, row: int) -> Any:
    """One row of a batch of outputs: of an array, or of each array of a dictionary, list or tuple."""
    if isinstance(outputs, Mapping):
        return {name: take_row(output, row) for name, output in outputs.items()}
    if isinstance(outputs, list | tuple):
        return type(outputs)(take_row(output, row) for output in outputs)
    return outputs[row]


def _as_rows(texts: Sequence[str], pairs: Sequence[str] | None) -> tuple[list[str], list[str] | None]:
    firsts = as_texts("texts", texts)
    if pairs is None:
        return firsts, None
    seconds = as_texts("pairs", pairs)
    check_same_length("texts", firsts, "pairs", seconds)
    return firsts, seconds


def take_part(task: Task, name: str) -> Task:
    """The task with a name inside of a task that is made of several; any other task is returned as it is."""
    return task.part(name) if name and task.has_parts else task


def slices(rows: int, at_once: int) -> list[slice]:
    """Consecutive slices of at most `at_once` rows that cover all rows."""
    return [slice(start, start + at_once) for start in range(0, rows, at_once)]


def pad_rows(rows: Sequence[Sequence[int]], filling: int) -> Array:
    """Rows of numbers -> (rows, longest row) int32."""
    padded = np.full((len(rows), max((len(row) for row in rows), default=0)), filling, "int32")
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return padded


def pad_batch(features: Features, chosen: Array, longest: int, most: int) -> Features:
    """Chosen rows; inputs along the tokens are cut or padded to a multiple of the length step.

    `longest` is the number of tokens of the longest of these rows, `most` the maximum of the model.
    """
    width = min(-(-longest // _LENGTH_STEP) * _LENGTH_STEP, most)
    batch = {name: array[chosen] for name, array in features.items()}
    for name in INPUT_NAMES:
        rows = batch[name][:, :width]
        batch[name] = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
    return batch
