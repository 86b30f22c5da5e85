"""The search for wrong labels as a part of a job: its checks, its steps and its section of the page."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from components.artifacts.standard import LabelledRows, RowOrigins, TaskExamples
from components.dsl.component import Handle, Node
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.objects.mirror import display_path
from components.scoring.registry import TASK_SCORING
from components.sources.docstring_task import DocstringTask
from pipeline.capability import Capability, Draw, FineTune
from pipeline.nodes import append_name
from pipeline.settings.schema import Settings
from plugins.label_errors.artifacts import (
    Folds,
    HeldOutProbabilities,
    LabelErrorReport,
    LabelErrors,
)
from plugins.label_errors.assign_folds import assign_folds
from plugins.label_errors.find_label_errors import find_label_errors
from plugins.label_errors.folds import check_folds
from plugins.label_errors.leave_out_fold import leave_out_fold
from plugins.label_errors.score_held_out import score_held_out
from plugins.label_errors.search import LabelErrorSearch


class LabelErrorSection(NamedTuple):
    """A search on the page of a run: the rows, and the name of the file that has all of them."""

    report: LabelErrorReport
    table: str


class LabelErrorCapability(Capability[LabelErrorSearch]):
    """The search for training rows whose labels are likely wrong."""

    name = "label_errors"
    table = LabelErrorSearch
    purpose = "the search for training rows whose labels are likely wrong."
    outputs = (LabelErrors,)
    title = "Likely wrong labels"
    keeps_columns = True
    unlisted_files = (Folds.record_file, LabelErrors.record_file)

    def check_tables(self, table: LabelErrorSearch, settings: Settings) -> None:
        """Raises InputError for a task without labels, and for rows whose labels nobody gave."""
        source = settings.examples
        assert source is not None
        if not TASK_SCORING[source.task].has_probabilities:
            raise InputError(f"label_errors must be left out for the task {source.task!r}, which has no labels")
        if isinstance(source, DocstringTask):
            raise InputError("label_errors must be left out for the built-in examples, whose labels are right")
        if settings.unlabelled is not None and settings.unlabelled.has_teacher_answers:
            raise InputError(
                "label_errors must be left out beside unlabelled.probabilities, whose rows have no labels to correct"
            )

    def check_rows(self, table: LabelErrorSearch, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        assert settings.examples is not None
        check_folds(splits["train"], TASK_ROWS[settings.examples.task], table.folds)

    def count_teachers(self, table: LabelErrorSearch) -> int:
        """Each of the models learns from all rows except the rows of its fold."""
        return table.folds - 1

    def wire(
        self,
        table: LabelErrorSearch,
        settings: Settings,
        rows: Handle[LabelledRows],
        examples: Handle[TaskExamples],
        fine_tune: FineTune,
    ) -> list[Node]:
        """A fine-tuning for each fold, with the settings of the first seed's teacher."""
        source = settings.examples
        assert source is not None
        near = source.near_overlap != "off"
        assigned = assign_folds(examples=examples, count=table.folds, seed=table.seed, near=near).output(Folds)
        models = []
        for fold in range(table.folds):
            node = append_name(leave_out_fold(examples=examples, folds=assigned, fold=fold), str(fold))
            # Names that are only numbers belong to seeds.
            models.append(fine_tune(node.output(TaskExamples), f"fold-{fold}"))
        scored = score_held_out(models=models, examples=examples, folds=assigned).output(HeldOutProbabilities)
        # A copy of the source is without the rows that it remembers: only the names of columns are needed.
        columns = dataclasses.replace(source)
        origins = rows.node.output(RowOrigins)
        return [find_label_errors(rows=rows, origins=origins, probabilities=scored, source=columns, search=table)]

    def summarize(self, output: LabelErrors) -> str:
        report, table = output.read(), display_path(output.file(output.table))
        return f"label errors: {report.errors} of {report.rows} training rows are likely wrong: {table}"

    def read(self, output: LabelErrors, draw: Draw) -> LabelErrorSection:
        return LabelErrorSection(output.read(), output.table)
