"""`schema`: writes the JSON schema of job files."""

import json
import sys
from types import SimpleNamespace

import click
from rich.console import Console

from components.dsl.errors import InputError
from pipeline.commands.command import DONE, OutputPath, Verb


@click.command(cls=Verb, example="schema --out job.schema.json")
@click.option("--out", type=OutputPath(), metavar="FILE", help="The file to write. Default: print it.")
def schema_command(options: SimpleNamespace, _: Console) -> int:
    """Write the JSON schema of job files, for editors.

    Editors complete and check jobs by it. With `#:schema ./job.schema.json` in the first line of a job, Taplo and
    Even Better TOML use it.
    """
    from pipeline.job.json_schema import job_schema

    text = json.dumps(job_schema(), indent=1, ensure_ascii=False) + "\n"
    if options.out is None:
        sys.stdout.write(text)
        return DONE
    try:
        options.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out must be a file that can be written, got {options.out}: {error.strerror}") from None
    return DONE
