"""The user's labelled rows -> LabelledRows: the only step that opens their files."""

import logging

from components.artifacts.standard import LabelledRows, RowOrigins, RowSource
from components.dsl.component import Output, component
from components.examples.registry import TASK_ROWS, write_origins, write_rows
from components.examples.source_rows import AnySource, list_fields, read_source
from components.sources.shared import KeptColumns
from components.sources.teacher_columns import UnlabelledSource

logger = logging.getLogger(__name__)


@component(libraries=("numpy", "pyarrow", "scipy", "sentencex"))
def read_examples(
    rows: Output[LabelledRows],
    origins: Output[RowOrigins],
    source: AnySource,
    unlabelled: UnlabelledSource | None = None,
    kept: KeptColumns = KeptColumns(),
) -> None:
    """Reads labelled rows, and writes them in their final splits with the places that they come from.

    A validation or test split that the source does not have is taken from the training rows: a tenth of them, for tasks
    with labels a tenth of each label. Rows of different splits with the same texts are treated as the source's
    `overlap` says; rows with nearly the same texts as its `near_overlap` says.

    `unlabelled` is a table of texts with a teacher's answers, which become training rows as well; `kept` are the
    columns that rows keep besides those of their task.

    Raises:
        InputError: the rows cannot be used, are too few for three splits, or are in two splits, which is forbidden.
    """
    task, read = TASK_ROWS[source.task], read_source(source, unlabelled, kept)
    for remark in read.remarks:
        logger.warning(remark)
    for split, split_rows in read.splits.items():
        write_rows(rows.file(f"{split}.jsonl.gz"), task, split_rows)
        write_origins(origins.file(f"{split}.jsonl.gz"), split_rows)
    origins.write(read.columns)
    rows.write(
        RowSource(
            task=source.task,
            labels=read.labels,
            fields=list_fields(source),
            overlap=source.overlap,
            near_overlap=source.near_overlap,
            near_overlap_counts=read.near_overlap,
            label_precision=getattr(source, "label_precision", None),
            has_teacher_answers=unlabelled is not None or getattr(source, "has_teacher_answers", False),
        )
    )
    rows.counts = {split: len(split_rows) for split, split_rows in read.splits.items()}
