"""What the texts that a page searches need of the other tables of a job."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.examples.retrieval import SplitCorpus
from components.sources.retrieval import RetrievalSource
from components.sources.search_texts import read_search_texts
from pipeline.settings.schema import Settings


def check_page(settings: Settings) -> None:
    """Raises InputError where `[page]` is set and the job makes no page, or none with vectors, or has no texts."""
    page, source = settings.page, settings.examples
    if page is None or source is None:
        return
    if not TASK_ROWS[source.task].has_vectors:
        raise InputError(f"page is only allowed for embedding and retrieval, got it for {source.task}")
    if not page.path and not isinstance(source, RetrievalSource):
        raise InputError("page.path must be set unless task is retrieval, whose passages are searched, got none")
    if "tflite" not in settings.export.runtimes:
        rule = "be left out where export.runtimes has no 'tflite', whose file the page runs"
        raise InputError(f"page must {rule}, got {list(settings.export.runtimes)}")


def check_search_texts(settings: Settings, splits: Mapping[str, Sequence[Any]], width: int | None) -> list[str]:
    """Reads the texts that the page searches; returns the size that they add to the page, in a line.

    `width` is that of the model's vectors, None if it is unknown.
    """
    page = settings.page
    if page is None:
        return []
    rows = [] if page.path else [row for split in splits.values() for row in split]
    width = settings.export.dimension or width
    texts, megabytes = read_search_texts(page, SplitCorpus.of(rows).passages, width or 0)
    vectors = f"with their vectors of {width} numbers" if width else "without their vectors"
    warning = f"everybody who gets index.html can read its {len(texts)} texts, which add {megabytes:.2f} MB {vectors}"
    return [f"page: {warning}"]
