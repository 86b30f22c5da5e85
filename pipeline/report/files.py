"""Writes the page of a run, also when the run ends."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from components.dsl.artifact import Artifact
from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.report.figure_cache import FigureCache
from pipeline.report.page import make_page
from pipeline.report.record import RunRecord, read_record
from pipeline.views.reports import check_output

REPORTS = "reports"
_DRAWN = ".drawn.json"


def write_page(root: Path, number: int | None = None, file: Path | None = None) -> Path:
    """Writes the page of a run and returns its file.

    Args:
        root: the root of the run.
        number: the number of the run; None for the newest one.
        file: the file to write; None for `ROOT/reports/RUN.html`.

    Raises:
        InputError: the folder is not a root, has no such run, an artifact is damaged, or the file cannot be written.
    """
    if file is not None:
        check_output("--out", file)
    record = read_record(root, number)
    figures = FigureCache(root / REPORTS / _DRAWN)
    try:
        page = make_page(record, figures)
    except Exception as error:
        for folder in _find_damaged_artifacts(record):
            rule = "must be as its step wrote it, got other content"
            raise InputError(f"{folder} {rule}; run the job again, which makes it anew") from error
        raise
    file = file or root / REPORTS / f"{record.run.id}.html"
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {file}: {error.strerror}") from error
    figures.keep()
    return file


def _find_damaged_artifacts(record: RunRecord) -> Iterator[Path]:
    """The folders of a run's artifacts whose files have changed; reads every byte."""
    for step in record.steps:
        for stored in step.outputs.values():
            folder = record.root / str(stored.path)
            if folder.is_dir() and Artifact(folder).read_fingerprint() != stored.fingerprint:
                yield folder


@contextlib.contextmanager
def report_written_after(
    root: Path, observer: Observer, say: Callable[[str], None], complain: Callable[[str], None]
) -> Iterator[None]:
    """Runs its body, then writes the page of the run that started in it, if that reached a step.

    Args:
        root: the root of the run.
        observer: observes the run.
        say: receives the path of the page.
        complain: receives the reason if it could not be written; the result of the body stays.
    """
    try:
        yield
    finally:
        try:
            if observer.run is not None and read_record(root, observer.run).steps:
                say(f"report: {write_page(root, observer.run)}")
        except Exception as error:
            complain(f"there is no report: {' '.join(str(error).split()) or type(error).__name__}")
