"""LabelledRows and HeldOutProbabilities -> LabelErrors: the training rows, those with likely wrong labels first."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.artifacts.standard import LabelledRows, RowOrigins
from components.dsl.component import Input, Output, component
from components.examples.registry import TASK_ROWS, read_labelled_rows, read_origins
from components.files.csv_files import ESCAPED_COLUMN, csv_line, escape_formula
from components.scoring.mistakes import MOST_ROWS, Mistake, Mistakes
from components.scoring.registry import TASK_SCORING
from components.sources.label_sets import LabelSetSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from plugins.label_errors.artifacts import LABEL_TABLES, HeldOutProbabilities, LabelErrorReport, LabelErrors
from plugins.label_errors.ranking import RowJudgement, count_pairs, rank_rows
from plugins.label_errors.search import LabelErrorSearch

logger = logging.getLogger(__name__)


@component(libraries=("numpy",))
def find_label_errors(
    rows: Input[LabelledRows],
    origins: Input[RowOrigins],
    probabilities: Input[HeldOutProbabilities],
    label_errors: Output[LabelErrors],
    source: TableSource | LabelSetSource | SentenceSource,
    search: LabelErrorSearch = LabelErrorSearch(),
) -> None:
    """Finds training rows whose labels are likely wrong by confident learning, and ranks all rows.

    `origins` keep all columns of the training table; `source` has the names of those that the task reads.
    """
    read = rows.read()
    task, scoring, labels = TASK_ROWS[read.task], TASK_SCORING[read.task], read.labels
    classes, train, decisions = scoring.classes(labels), read_labelled_rows(rows, "train"), probabilities.read()
    judgements = rank_rows(decisions, len(train), search.score, by_label=scoring.decides_by_label)
    places, names = read_origins(origins, "train"), origins.read()
    mistakes, records = list[Mistake](), list[dict[str, Any]]()
    for judgement in judgements:
        row, origin = train[judgement.row], places[judgement.row]
        other = scoring.relabel(row, {place: classes[name] for place, name in judgement.suggested.items()}, labels)
        if judgement.suggested and len(mistakes) < MOST_ROWS:
            mistakes.append(scoring.compare_labels(row, other, judgement.score))
        suggested = task.answer(other) if judgement.suggested else ""
        # Text and label as they were read stand among the other columns of a table of classes.
        columns = {name: origin.columns.get(name, "") for name in names}
        record = {**columns, **source.record(row)}
        records.append(_make_record(record, judgement, suggested, origin.location))
    is_flat = all(isinstance(value, str) for value in source.record(train[0]).values())
    _write_table(label_errors.path, records, is_flat=is_flat)
    errors = sum(bool(judgement.suggested) for judgement in judgements)
    pairs = count_pairs(judgements, decisions, classes, labels)
    shown = Mistakes(search.score, mistakes, errors, len(train)).as_dict()
    label_errors.write(LabelErrorReport(task.name, search.folds, search.score, len(train), errors, pairs, shown))
    label_errors.counts = {"rows": len(train), "likely_wrong": errors}
    logger.info("%d of %d training rows have a likely wrong label", errors, len(train))


def _make_record(record: Mapping[str, Any], judgement: RowJudgement, suggested: str, place: str) -> dict[str, Any]:
    """The columns of a row, and the columns of its judgement; `_` is appended to a name that the row has already."""
    added = {
        ESCAPED_COLUMN: "yes" if judgement.suggested else "no",
        "suggested": suggested,
        "score": None if judgement.score is None else round(judgement.score, 6),
        "row": judgement.row,
        "source": place,
    }
    columns = dict(record)
    for name, value in added.items():
        while name in record:
            name += "_"
        columns[name] = value
    return columns


def _write_table(folder: Path, records: Sequence[Mapping[str, Any]], *, is_flat: bool) -> None:
    """Writes a `.csv` file of rows whose columns are texts, else a `.jsonl` file."""
    if not is_flat:
        lines = (f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
        (folder / LABEL_TABLES[1]).write_text("".join(lines), encoding="utf-8")
        return
    with (folder / LABEL_TABLES[0]).open("w", encoding="utf-8", newline="") as stream:
        for cells in (records[0], *(record.values() for record in records)):
            stream.write(csv_line(escape_formula(cell) if isinstance(cell, str) else cell for cell in cells))
