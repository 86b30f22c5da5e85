"""The task `open_labels`: an encoder whose labels are data beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.data.schemas import SCHEMAS
from keras_bert.options.data import Prompts
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Runtime, Task
from keras_bert.tasks.checks import as_columns, as_texts, label_number
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tasks.targets import RowWords, Target
from plugins.open_labels.label_table import ALLOWED_LOSS, LabelAnswer, LabelTable, name_text
from plugins.open_labels.pairs import draw_partners

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


class OpenLabels(Retrieval):
    """Labels of texts by a table that grows where the model runs; the model gives vectors, and never changes.

    `keras_bert.fit(task, texts, labels)` trains the vectors of texts with the same label to be alike, by the loss of
    retrieval, and then fits the table to the training rows. As an embedding it is distilled by texts alone, quantized
    and exported; a student has the table of its teacher.

    Args:
        model: a model as `build_embedder` returns it, or an exported file.
        tokenizer: the tokenizer with the model's vocabulary.
        label_table: the labels, as `LabelTable.as_text`; None before `fit_labels`.
        labels: the labels of the table, which files name; None for as in the table.
        settings: those of `Retrieval`; prompts are ignored.
    """

    name = "open_labels"
    schema = SCHEMAS["retrieval"]
    second_text = "unused"  # type: ignore[assignment]
    tunes = True
    tuned_by = "train"
    page_scripts = tuple(Path(__file__).with_name(name) for name in ("label_table.js", "page.js"))

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        label_table: str | None = None,
        labels: Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(model, tokenizer, **settings)
        # A text is neither a query nor a passage.
        self.prompts = Prompts()
        self._table = None if label_table is None else LabelTable.from_text(label_table)
        self._expected_labels = tuple(labels or ())
        rule = f"be those of label_table, {list(self.labels)}"
        check("OpenLabels", "labels", labels is None or tuple(labels) == self.labels, rule, labels)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        """The labels in their order; before `fit_labels` those that the table will have."""
        return self._expected_labels if self._table is None else self._table.labels

    @property
    def table(self) -> LabelTable:
        """The labels with what is known of each; raises ValueError before `fit_labels`."""
        check("OpenLabels", "table", self._table is not None, "be fitted to rows first, see fit_labels", None)
        assert self._table is not None
        return self._table

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """The loss of retrieval, where texts with the same label answer each other, with the weights of labels."""
        from plugins.open_labels.objective import LabelPairObjective

        self._check_trained_function()
        return LabelPairObjective(self.contrast, class_weights)

    def _settings_of(self, dimension: int) -> dict[str, Any]:
        """Those of `Retrieval`; a table of vectors of this width stays if the model's own are of another one.

        So a narrow student, which has its teacher's table, keeps it when a layer makes its vectors as wide as these.
        """
        settings, width = super()._settings_of(dimension), self.model.output["embedding"].shape[-1]
        if dimension == width or self._table is None or len(self._table.space.center) != dimension:
            settings.pop("label_table", None)
        return settings

    def settings(self) -> dict[str, Any]:
        """Those of `Retrieval`, and the table."""
        return {**super().settings(), **({} if self._table is None else {"label_table": self._table.as_text()})}

    def fit_labels(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        descriptions: Mapping[str, str] = {},
        allowed_loss: float = ALLOWED_LOSS,
    ) -> None:
        """Fits the table to the vectors of rows, in place of the one that is there; the encoder stays as it is.

        Args:
            texts: the texts.
            labels: the label of each.
            descriptions: label -> a description; the name of a label is read with it, see `add_label`.
            allowed_loss: the share of rows that may lose their label when labels are added, see `LabelTable.fit`.

        Raises:
            ValueError: there are fewer than two labels, or none has two rows.
        """
        texts, labels = as_columns(texts=texts, labels=as_texts("labels", labels))
        names = sorted(set(labels))
        sides = self.name_vectors(names, descriptions)
        self._table = LabelTable.fit(
            self.predict(texts),
            labels,
            names=names,
            name_vectors=np.stack([sides[name] for name in names]),
            allowed_loss=allowed_loss,
        )

    def name_vectors(self, labels: Sequence[str], descriptions: Mapping[str, str] = {}) -> dict[str, Array]:
        """Label -> the vector (width,) of its name and description; underscores are spaces."""
        vectors = self.predict([name_text(label, descriptions.get(label, "")) for label in labels])
        return dict(zip(labels, vectors, strict=True))

    def tune(self, texts: Sequence[str], labels: Sequence[str], descriptions: Mapping[str, str] = {}) -> None:
        """Fits the table to the training rows, see `fit_labels`."""
        self.fit_labels(texts, labels, descriptions)

    def examples(self, texts: Sequence[str], labels: Sequence[str]) -> tuple[Features, Array]:  # type: ignore[override]
        """Arguments of `similarity.fit`: each text with another text of its label, see `Retrieval.examples`.

        The labels are the index of the row's label (rows, 1) int32.
        """
        texts, labels = as_columns(texts=texts, labels=as_texts("labels", labels))
        names = {name: number for number, name in enumerate(sorted(set(labels)))}
        partners = [texts[row] for row in draw_partners(labels)]
        return self._encode_sides(texts, partners), np.array([[names[label]] for label in labels], "int32")

    def add_label(self, label: str, texts: Sequence[str] = (), *, description: str = "") -> None:
        """Adds a label by examples; without any, by its name and description.

        Raises:
            ValueError: the label exists, or an example is empty.
        """
        vectors = self._examples(texts)
        named = None if len(vectors) else self.name_vectors([label], {label: description})[label]
        self.table.add(label, vectors, named)

    def add_examples(self, label: str, texts: Sequence[str]) -> None:
        """Adds examples to a label.

        Raises:
            ValueError: there is no such label, or no example, or an example is empty.
        """
        self.table.add_examples(label, self._examples(texts))

    def classify(self, texts: Sequence[str], *, batch_size: int = 32) -> list[LabelAnswer]:
        """The label of each text."""
        return self.table.answer(self.predict(texts, batch_size=batch_size))

    def target(self, choice: str | None, outputs: Any, row: RowWords) -> Target:
        """The score of a label, by default of the label that the text is answered with if its score is enough."""
        from keras import ops

        space, densities, labels = self.table.space, self.table.densities, self.labels
        if choice is None:
            number = int(self.table.scores(np.asarray(outputs["embedding"])[None]).argmax())
        else:
            number = label_number("target", choice, labels)
        factors = densities.factors[number].astype("float32")

        def score(outputs: Any) -> Any:
            coordinates = ops.matmul(ops.cast(outputs["embedding"], "float32") - space.center, space.axes)
            terms = ops.concatenate([ops.square(coordinates), coordinates], axis=-1)
            return ops.sum(terms * factors, axis=-1) + float(densities.constants[number])

        return Target(labels[number], labels[number], score)

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`label`, empty for none of the labels, `probability` and `score`."""
        return {"label": str, "probability": float, "score": float}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """The values of `answer_columns`; raises ValueError for second texts, and before `fit_labels`."""
        check("OpenLabels", "seconds", seconds is None, "be left out, as a text has a label by itself", "some")
        for answer in self.classify(texts):
            yield answer.label or "", answer.probability, answer.score

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The label, its probability, and the text."""
        return [(values[0] or "none of the labels", f"{values[1]:.4f}", *texts)]

    def _examples(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        if not len(texts):
            return np.zeros((0, len(self.table.space.center)), "float32")
        for row, text in enumerate(as_texts("texts", texts)):
            check("OpenLabels", f"texts[{row}]", bool(text.strip()), "not be empty", text)
        return self.predict(texts)


def open_labels(task: Task, texts: Sequence[str], labels: Sequence[str], **options: Any) -> OpenLabels:
    """Labels as data on the encoder of a trained task, such as a classifier or an embedding; weights are shared.

    Args:
        task: the task; the vectors are pooled as its own, a classifier's by the mean.
        texts: texts of the labels.
        labels: the label of each.
        options: see `OpenLabels.fit_labels`.
    """
    kept: dict[str, Any] = {"max_length": task.max_length}
    if isinstance(task, Embedding):
        kept = {**task.settings(), **task.head()}
    built = OpenLabels.build(task.encoder, task.tokenizer, **kept)
    built.fit_labels(texts, labels, **options)
    return built
