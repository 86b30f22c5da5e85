"""Rows of the task `open_labels`: texts with labels, some of which are held out and added after the training."""

import dataclasses
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from components.dsl.errors import InputError, nearest
from components.examples.base import Encoding
from components.examples.classification import ClassificationRows
from components.examples.texts import encode_texts
from components.files.tables import Record
from components.sources.shared import SPLITS, KeptColumns, LabelledFiles, NotedSplits, RowOrigin
from components.sources.table import TableSource, TextRow
from keras_bert.core.folding import fold
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from plugins.open_labels.pairs import draw_partners

# The most examples with which a held-out label is added.
MOST_EXAMPLES = 8


class OpenRow(NamedTuple):
    """A text with its label.

    Attributes:
        text: the text.
        label: the label.
        examples: the texts with which the label is added if it is held out; none for a trained label.
        description: that of the label, or empty.
        origin: the place of the row.
    """

    text: str
    label: str
    examples: tuple[str, ...] = ()
    description: str = ""
    origin: RowOrigin = RowOrigin()

    @property
    def second_text(self) -> None:
        """None: a text has a label by itself."""

    @property
    def teacher(self) -> tuple[()]:
        """Empty: a teacher has no answer to a label that it does not know."""
        return ()


def examples_of(rows: Iterable[OpenRow]) -> dict[str, tuple[str, ...]]:
    """Held-out label -> its examples."""
    return dict(sorted((row.label, row.examples) for row in rows if row.examples))


def descriptions_of(rows: Iterable[OpenRow]) -> dict[str, str]:
    """Label -> its description, or an empty text."""
    return {row.label: row.description for row in rows}


@validated_dataclass(kw_only=False)
class OpenLabelsSource(LabelledFiles):
    """Rows with a label, in tables with named columns, as `TableSource` reads them.

    Attributes:
        text: the column of the text.
        label: the column of the label.
        held_out_labels: labels that no training reads, or how many are drawn. They measure labels that are added to the
            model later: by up to 8 of their training rows, or by their names alone.
        held_out_seed: draws the held-out labels and their examples.
        descriptions: label -> a description, which is read after the label's name.
        task: `open_labels`.
    """

    text: NonEmptyStr = "text"
    label: NonEmptyStr = "label"
    held_out_labels: Annotated[int, pydantic.Field(ge=0)] | tuple[NonEmptyStr, ...] = 0
    held_out_seed: int = 0
    descriptions: Mapping[NonEmptyStr, NonEmptyStr] = dataclasses.field(default_factory=dict)
    task: Literal["open_labels"] = "open_labels"

    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.text, self.label

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """All splits, see `LabelledFiles.splits`; training rows are those of trained labels."""
        from components.examples.source_rows import complete_splits  # which imports the rows of all tasks

        table = TableSource(self.train, self.validation, self.test, text=self.text, label=self.label)
        read = {split: [self._open_row(row) for row in rows] for split, rows in table.read_splits(kept).items()}
        chance, labels = random.Random(self.held_out_seed), sorted({row.label for row in read["train"]})
        for name, chosen in (("held_out_labels", self.held_out_labels), ("descriptions", self.descriptions)):
            for label in () if isinstance(chosen, int) else chosen:
                if label not in labels:
                    hint = nearest(label, labels)
                    raise InputError(f"examples.{name} has {label!r}, which no training row has{hint}")
        held_out = self._choose_labels(labels, chance)
        complete = complete_splits(read, OpenLabelsRows())
        _check_held_out(held_out, complete)
        examples = _draw_examples(held_out, complete, chance)
        splits = NotedSplits(
            {split: [row._replace(examples=examples.get(row.label, ())) for row in complete[split]] for split in SPLITS}
        )
        splits["train"] = [row for row in splits["train"] if not row.examples]
        if held_out:
            splits.notes = [f"{len(held_out)} labels are held out, no training reads them: {', '.join(held_out)}"]
        return splits

    def read(self, path: str) -> list[OpenRow]:
        """The rows of tables; their labels are not compared."""
        rows = TableSource(path, text=self.text, label=self.label).read(path)
        return [self._open_row(row) for row in rows]

    def make_rows(self, path: str, records: Iterable[Record]) -> Iterator[OpenRow]:
        """The rows of records of a table."""
        return map(self._open_row, TableSource(path, text=self.text, label=self.label).make_rows(path, records))

    def record(self, row: OpenRow) -> dict[str, str]:
        """Converts a row to a record with this source's columns."""
        return {self.text: row.text, self.label: row.label}

    def _open_row(self, row: TextRow) -> OpenRow:
        return OpenRow(row.text, row.label, (), self.descriptions.get(row.label, ""), row.origin)

    def _choose_labels(self, labels: Sequence[str], chance: random.Random) -> list[str]:
        """The held-out labels; raises InputError if fewer than two labels remain."""
        chosen, most = self.held_out_labels, len(labels) - 2
        count = chosen if isinstance(chosen, int) else len(set(chosen))
        if count > most:
            raise InputError(
                f"examples.held_out_labels must leave at least 2 of {len(labels)} labels for the training, got {count}"
            )
        return sorted(chance.sample(labels, count) if isinstance(chosen, int) else set(chosen))


def _check_held_out(held_out: Sequence[str], splits: Mapping[str, Sequence[OpenRow]]) -> None:
    """Raises InputError if an added label could not be measured, or trained rows could not be."""
    for split in ("validation", "test"):
        labels = {row.label for row in splits[split]}
        missing = [label for label in held_out if label not in labels]
        if split == "test" and missing:
            raise InputError(f"test must have rows of each of examples.held_out_labels, got none of {missing[0]!r}")
        if not labels.difference(held_out):
            raise InputError(f"{split} must have rows of labels that are not in examples.held_out_labels, got none")


def _draw_examples(
    held_out: Sequence[str], splits: Mapping[str, Sequence[OpenRow]], chance: random.Random
) -> dict[str, tuple[str, ...]]:
    """Held-out label -> up to `MOST_EXAMPLES` texts of training rows, none of which is in another split."""
    others = {fold(row.text) for split in ("validation", "test") for row in splits[split]}
    texts = defaultdict[str, list[str]](list)
    for row in splits["train"]:
        if fold(row.text) not in others:
            texts[row.label].append(row.text)
    for label in held_out:
        if not texts[label]:
            raise InputError(
                f"train must have a text of the held-out label {label!r} that validation and test have not, got none"
            )
    return {label: tuple(chance.sample(texts[label], min(MOST_EXAMPLES, len(texts[label])))) for label in held_out}


class OpenLabelsRows(ClassificationRows):
    """A text and its label; a record holds another text with the label, too, see `draw_partners`."""

    name = "open_labels"
    fields = ("text", "label", "examples", "description")
    may_be_unlabelled = False
    compares_batches = True

    def parse(self, record: Record) -> OpenRow:  # type: ignore[override]
        text, label, examples, description = record.values
        return OpenRow(text, label, tuple(examples), description)

    def tuning_columns(self, rows: Sequence[Any]) -> tuple[Any, ...]:
        return [row.text for row in rows], [row.label for row in rows], descriptions_of(rows)

    def records(self, rows: Sequence[Any], encoding: Encoding) -> Iterator[bytes]:
        """A record for each row of a trained label, in the form of `retrieval`; other labels have no records."""
        from keras_bert.data.records import serialize

        numbers = [number for number, row in enumerate(rows) if row.label in encoding.label_numbers]
        trained = [rows[number] for number in numbers]
        tokens = [features for _, features in encode_texts(trained, encoding)]
        partners = draw_partners([row.label for row in trained])
        for number, row, features, partner in zip(numbers, trained, tokens, partners, strict=True):
            second = {f"second_{name}": values for name, values in tokens[partner].items()}
            group = [encoding.label_numbers[row.label]]
            none: dict[str, list[int]] = {"negative_texts": [], "negative_lengths": [], "negative_groups": []}
            groups = {"answer_groups": group, "passage_group": group, "row": [number]}
            yield serialize({**features, **second, **none, **groups})
