"""`schema`: writes the JSON schema of job files."""

import argparse
import json
import sys

from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.arguments import absolute_path
from pipeline.commands.command import DONE, Command
from pipeline.job.json_schema import job_schema


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=absolute_path, metavar="FILE", help="the file to write (default: print it)")


def _run(options: argparse.Namespace, _: Console) -> int:
    text = json.dumps(job_schema(), indent=1, ensure_ascii=False) + "\n"
    if options.out is None:
        sys.stdout.write(text)
        return DONE
    try:
        options.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {options.out}: {error.strerror}") from None
    return DONE


SCHEMA = Command(
    name="schema",
    purpose="write the JSON schema of job files, with which editors complete and check them",
    details="With `#:schema ./job.schema.json` in the first line of a job, Taplo and Even Better TOML use it.",
    example="schema --out job.schema.json",
    add_arguments=_add_arguments,
    run=_run,
)
