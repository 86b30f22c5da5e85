"""Answers a table with a model: cut into chunks, answered as a Beam pipeline, joined in order."""

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.answers.columns import name_answers
from components.answers.cut_table import CutTable, cut_table, read_chunk, read_texts
from components.answers.model_inputs import check_second, open_task
from components.answers.part_files import OutputFormat, join_parts, write_part
from components.answers.table_request import TableRequest, digest_request, match_table
from components.answers.work_folder import PARTS, locked_folder
from components.beam.engine import BYTES_A_PROCESS, choose_scale, run_over
from components.dsl.errors import InputError
from components.dsl.heartbeat import Heartbeat
from components.files.text_files import is_unicode
from keras_bert.core.folders import write_whole

if TYPE_CHECKING:
    from components.answers.model_handler import AnsweredBatch, TextBatch

# (done, total, note)
Progress = Callable[[int, int, str], None]

_PLAN, _ERRORS, _JOINED = "plan.json", "errors.jsonl", "joined"

# How many characters a step on text reads in the time in which a small model answers one: 6 MB a second on a core
# beside 20 kB.
_COST = 300
_SECONDS_BETWEEN = 0.5


@dataclasses.dataclass(frozen=True)
class TableAnswers:
    """The counts of a table that was answered; `resumed` counts chunks that were there from a run that was killed."""

    rows: int
    bad: int
    empty: int
    cut: int
    columns: list[str]
    resumed: int
    chunks: int


@dataclasses.dataclass(frozen=True)
class PartWriter:
    """What workers need to make a part: texts of a chunk, and the rows with the answers to them."""

    folder: Path
    columns: Sequence[str]
    output: OutputFormat
    words: bool = False

    def file(self, number: int) -> Path:
        """The part of a chunk."""
        return self.folder / PARTS / f"{number:06d}{self.output.part_suffix}"

    def counts_file(self, number: int) -> Path:
        """The counts of a part."""
        return self.folder / PARTS / f"{number:06d}.json"

    def read(self, number: int) -> "TextBatch":
        """The texts of a chunk."""
        from components.answers.model_handler import TextBatch

        return TextBatch(number, *read_texts(read_chunk(self.folder, number), self.columns, words=self.words))

    def write(self, answers: "AnsweredBatch") -> None:
        """Writes the counts, then the part: where there is a part, all of it is there."""
        write_whole(self.counts_file(answers.key), {"empty": answers.empty, "cut": answers.cut})
        write_part(self.file(answers.key), read_chunk(self.folder, answers.key), answers.values, self.output)


def answer_table(request: TableRequest, progress: Progress = lambda done, total, note: None) -> TableAnswers:
    """Writes a table with the answers of a model beside its columns, row by row in order.

    `progress` is called with the numbers of finished and of all chunks, from another thread.

    Rows without a text, with bytes that are not UTF-8, or that are malformed go to the side file with the reason. The
    output appears when all of it is written. A run that was killed goes on with the chunks that it had not finished if
    model, table and request are the same.

    Raises:
        InputError: something in the request does not go with the model or the table, or another run writes the output.
        RuntimeError: the Beam pipeline failed.
    """
    files = match_table(request)
    try:
        task = open_task(request.model, **request.options)
        check_second(task, given=request.second is not None)
        answers = task.answer_columns(paired=request.second is not None)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise InputError(str(error)) from None
    del task  # the pipeline loads its own
    with locked_folder(request.out, digest_request(request, files)) as folder:
        progress(0, 0, "reading the table")
        try:
            table = _read_table(request, files, folder)
            names = name_answers(table.names, answers, request.prefix)
        except InputError:
            shutil.rmtree(folder)
            raise
        types = dict(zip(names, answers.values(), strict=True))
        output = OutputFormat(request.out.suffix, table.names, table.json_types, types)
        writer = PartWriter(folder, request.columns, output, request.words)
        missing = [number for number in range(table.chunks) if not writer.file(number).exists()]
        if missing:
            _answer(request, writer, missing, table, progress)
        progress(table.chunks, table.chunks, "writing the output")
        counts = [json.loads(writer.counts_file(number).read_text()) for number in range(table.chunks)]
        _publish(request, writer, table)
        shutil.rmtree(folder)
    empty, cut = (sum(count[name] for count in counts) for name in ("empty", "cut"))
    return TableAnswers(
        table.rows, table.bad, empty, cut, names, resumed=table.chunks - len(missing), chunks=table.chunks
    )


def _read_table(request: TableRequest, files: Sequence[str], folder: Path) -> CutTable:
    """Cuts the table, unless a run that was killed has done so."""
    plan = folder / _PLAN
    if plan.exists():
        return CutTable(**json.loads(plan.read_text(encoding="utf-8")))
    table = cut_table(request, files, folder, folder / _ERRORS)
    halves = [name for name in table.names if not is_unicode(name)]
    if halves and request.out.suffix != ".jsonl":
        raise InputError(
            f"--out must be a .jsonl file, as field {halves[0]!r} of the table is not valid Unicode, got {request.out}"
        )
    write_whole(plan, dataclasses.asdict(table))
    return table


def _answer(
    request: TableRequest, writer: PartWriter, missing: Sequence[int], table: CutTable, progress: Progress
) -> None:
    import apache_beam as beam_sdk
    from apache_beam.ml.inference.base import RunInference

    from components.answers.model_handler import TaskModelHandler, registered_tasks

    handler = TaskModelHandler(str(request.model), registered_tasks(), **request.options)

    def steps(numbers: Any) -> None:
        answers = numbers | "Read" >> beam_sdk.Map(writer.read) | "Answer" >> RunInference(handler)
        answers | "Write" >> beam_sdk.Map(writer.write)

    def report() -> None:
        # Wherever workers write the parts.
        done = sum(not name.startswith(".") and name.endswith(".json") for name in os.listdir(writer.folder / PARTS))
        progress(done, table.chunks, f"{done} of {table.chunks} chunks")

    # No more processes than chunks.
    size = min(_COST * table.characters * len(missing) // table.chunks, BYTES_A_PROCESS * len(missing))
    scale = choose_scale(request.beam, size, threaded=False)
    heartbeat = Heartbeat(report, _SECONDS_BETWEEN)
    try:
        run_over(missing, steps, request.beam, scale=scale)
    finally:
        heartbeat.stop()


def _publish(request: TableRequest, writer: PartWriter, table: CutTable) -> None:
    joined, side_file = writer.folder / _JOINED, writer.folder / "side_file"
    join_parts([writer.file(number) for number in range(table.chunks)], joined, writer.output)
    if table.bad:
        # A copy, since a run that is killed here does this again.
        shutil.copyfile(writer.folder / _ERRORS, side_file)
        os.replace(side_file, request.side_file)
    else:
        request.side_file.unlink(missing_ok=True)
    os.replace(joined, request.out)
