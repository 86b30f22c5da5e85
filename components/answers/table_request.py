"""A table to be answered: its files, its output, and all that the answers depend on."""

import dataclasses
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from components.answers.part_files import OUTPUT_KINDS
from components.beam.engine import BeamOptions
from components.dsl.errors import InputError
from components.files.paths import file_digest, match_files, short_name
from components.files.tables import RECORD_KINDS, is_record_file
from components.files.text_files import extension
from keras_bert.core.folders import LEVELS_ABOVE, METRICS_FILE, TASK_FILE, TOKENIZER_FILES
from keras_bert.export.files import list_parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableRequest:
    """A table to be answered.

    Attributes:
        model: a pushed version, a `.tflite` or `.onnx` file, or the folder of a Keras model; absolute, as workers on
            other machines need it, too.
        table: a file, a folder, or a pattern of several files of one kind.
        second: the column of the second texts; None for single texts.
        out: the output, absolute; its suffix is its format.
        prefix: is put before the names of the answers.
        words: whether a tagger gives each word its tag; texts may be lists of words then. See `open_task` for this,
            `prompt`, `vectors` and `part`.
    """

    model: Path
    table: str
    text: str
    second: str | None = None
    out: Path
    prefix: str = ""
    prompt: str | None = None
    vectors: str | None = None
    words: bool = False
    part: str | None = None
    beam: BeamOptions = BeamOptions()

    @property
    def columns(self) -> list[str]:
        """The columns of the texts."""
        return [self.text] if self.second is None else [self.text, self.second]

    @property
    def options(self) -> dict[str, Any]:
        """The options of `open_task`."""
        return {name: getattr(self, name) for name in ("prompt", "vectors", "words", "part")}

    @property
    def side_file(self) -> Path:
        """The file of the rows that cannot be answered."""
        return self.out.with_name(f"{self.out.name}.errors.jsonl")


def match_table(request: TableRequest) -> list[str]:
    """The files of the table."""
    if request.out.suffix not in OUTPUT_KINDS:
        raise InputError(f"--out must end in {', '.join(OUTPUT_KINDS)}, got {request.out}")
    files = match_files(request.table, RECORD_KINDS, what="--table")
    for file in files:
        if not is_record_file(file):
            raise InputError(f"--table must be of {', '.join(RECORD_KINDS)} files, got {file}")
    kinds = sorted({extension(file) for file in files})
    if len(kinds) > 1:
        raise InputError(f"--table must be of files of one kind, got {', '.join(kinds)}")
    outputs = {os.path.realpath(file) for file in (request.out, request.side_file)}
    if outputs & {os.path.realpath(file) for file in files}:
        raise InputError(f"--out must be no file of --table, nor its .errors.jsonl one, got {request.out}")
    if os.path.isdir(request.table) and request.out.resolve().is_relative_to(Path(request.table).resolve()):
        raise InputError(f"--out must lie outside of the folder of --table, got {request.out}")
    return files


def digest_request(request: TableRequest, files: Sequence[str]) -> dict[str, Any]:
    """All that the bytes of a part depend on."""
    model = request.model
    if model.is_dir():
        read = {file.relative_to(model).as_posix(): file for file in sorted(model.rglob("*")) if file.is_file()}
    else:
        names = (TASK_FILE, METRICS_FILE, *TOKENIZER_FILES)
        beside = [folder / name for folder in model.parents[:LEVELS_ABOVE] for name in names]
        read = {str(file): file for file in (*list_parts(model), *filter(Path.is_file, beside))}
    return {
        "version": version("keras-bert-edge"),
        "model": {name: file_digest(str(file)) for name, file in read.items()},
        "table": [[short_name(file, request.table), file_digest(file)] for file in files],
        "columns": request.columns,
        "prefix": request.prefix,
        **request.options,
        "kind": request.out.suffix,
    }
