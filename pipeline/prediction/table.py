"""Answers a table, and shows progress and result on the terminal."""

from collections.abc import Iterator

from rich.console import Console

from components.answers.answer_table import TableAnswers, answer_table
from components.answers.table_request import TableRequest
from components.dsl.errors import InputError
from pipeline.orchestrator.disk import is_disk_full
from pipeline.orchestrator.runner import RunFailedError
from pipeline.views.terminal import StepLine, native_logs_hidden, write


def answer_and_show(request: TableRequest, console: Console) -> None:
    """Answers a table and prints a summary."""
    with StepLine(console, "answers", None) as line:

        def progress(done: int, total: int, note: str) -> None:
            line.progress(done, total, note)
            line.tick()

        try:
            with native_logs_hidden():
                answers = answer_table(request, progress)
        # Beam wraps errors of workers in different error types.
        except (OSError, RuntimeError) as error:
            if is_disk_full(error):
                raise InputError(
                    f"--out must lie on a disk with space left, got {request.out}; make room, then run the same "
                    "command again: it resumes"
                ) from error
            if isinstance(error, OSError):
                raise
            reason = [text for text in str(error).splitlines() if text.strip()][-1].strip()
            raise RunFailedError(
                f"the table was not answered: {reason}; the same command goes on with the chunks that are missing"
            ) from error
    for text in describe_answers(request, answers):
        write(console, text)


def describe_answers(request: TableRequest, answers: TableAnswers) -> Iterator[str]:
    """Yields the summary of an answered table, line by line."""
    yield f"{request.out}: {answers.rows} rows, answers in the columns {', '.join(answers.columns)}"
    if answers.resumed:
        yield f"{answers.resumed} of {answers.chunks} chunks were there from a run that was stopped"
    if answers.bad:
        yield f"bad rows: {answers.bad}, left out; {request.side_file} has their numbers and the reasons"
    if answers.empty:
        yield f"rows with a text that is empty for the model: {answers.empty}; their answers do not depend on it"
    if answers.cut:
        yield f"rows that are longer than the model reads: {answers.cut}; the rest of them was cut"
