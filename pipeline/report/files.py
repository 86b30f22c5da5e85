"""Where pages go, and the page of a run that has just ended."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from components.dsl.errors import InputError
from pipeline.report.drawn import Drawn
from pipeline.report.page import make_page
from pipeline.report.record import newest_run, read_record

REPORTS = "reports"
_DRAWN = ".drawn.json"


def write_page(root: Path, number: int | None = None, file: Path | None = None) -> Path:
    """Writes the page of a run; gives its file.

    Args:
        root: of the run.
        number: of the run; the newest if None.
        file: where to; `ROOT/reports/RUN.html` if None.

    Raises:
        InputError: the root is none, has no such run, or the file cannot be written.
    """
    if file is not None and not file.parent.is_dir():
        raise InputError(f"--out must be in a folder that exists, got {file}")
    record = read_record(root, number)
    drawn = Drawn(root / REPORTS / _DRAWN)
    page = make_page(record, drawn)
    file = file or root / REPORTS / f"{record.run.id}.html"
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {file}: {error.strerror}") from error
    drawn.keep()
    return file


@contextlib.contextmanager
def reported(root: Path, say: Callable[[str], None], complain: Callable[[str], None]) -> Iterator[None]:
    """Writes the page of the run that goes on inside, however it ends, if it came to a step.

    Args:
        root: of the run.
        say: is told where the page is.
        complain: is told why there is none; how the run ended is not changed by that.
    """
    before = newest_run(root)
    try:
        yield
    finally:
        try:
            number = newest_run(root)
            if number is not None and number != before and read_record(root, number).steps:
                say(f"report: {write_page(root, number)}")
        except Exception as error:
            complain(f"there is no report: {' '.join(str(error).split()) or type(error).__name__}")
