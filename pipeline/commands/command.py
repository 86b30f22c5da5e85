"""How a command of the program is defined: click options, a function that runs it, and an example in its help."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from components.dsl.errors import InputError

if TYPE_CHECKING:
    from pipeline.orchestrator.root_store import RootStore
    from pipeline.settings.schema import Settings

PROGRAM = "keras-bert-edge"

# Exit statuses; the epilog of `--help` lists them.
DONE, FAILED, BAD_INPUT, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130

_ARTIFACT = "/artifacts/"

OTHER_GOAL = "Other commands"


class Verb(click.Command):
    """A command whose function takes all arguments as one object and a console, and returns the exit status.

    Args:
        example: the arguments of a command line that is likely to be useful, without the program's name.
        goal: the heading below which the help of the program lists a command of a plug-in.
    """

    def __init__(self, *arguments: Any, example: str, goal: str = OTHER_GOAL, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.example, self.goal = example, goal

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the example."""
        formatter.write(f"\nExample:\n  {wrap_example(self.example)}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Opens addresses, and calls the function."""
        from pipeline.views.terminal import open_console

        assert self.callback is not None
        options = SimpleNamespace(**ctx.params)
        if getattr(options, "refresh", False):
            refresh_commits(options)
        open_addresses(options)
        return self.callback(options, open_console())


def wrap_example(example: str) -> str:
    """A command line to be shown and copied, in lines of at most 76 characters that are broken before options."""
    lines = [PROGRAM]
    for part in re.split(r" (?=--)", example):
        if len(lines[-1]) + len(part) > 73:
            lines.append("   ")
        lines[-1] += f" {part}"
    return " \\\n  ".join(lines)


class Address(str):
    """The address of a root, a file or a folder, such as `s3://bucket/prefix`, instead of a path."""

    __slots__ = ()


def absolute_path(text: str) -> Path | Address:
    """The absolute path that a user means; an address stays as it is, for `open_addresses`."""
    from components.files.text_files import is_remote

    return Address(text) if is_remote(text) else Path(text).expanduser().absolute()


class PathOrAddress(click.Path):
    """The absolute path that a user means, or an address in object storage or on the hub, for `open_addresses`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | Address:
        """See `absolute_path`."""
        return absolute_path(value)


class OutputPath(click.Path):
    """A file to write, on this machine."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Refuses addresses."""
        path = absolute_path(value)
        if isinstance(path, Address):
            raise InputError(f"{param.opts[0] if param else 'FILE'} must be a file on this machine, got {value}")
        return path


def open_addresses(options: SimpleNamespace) -> None:
    """Replaces addresses, such as `s3://bucket/prefix`, by paths of this machine.

    A root becomes the folder that mirrors it; a file or a folder that a command reads is downloaded into the cache.
    """
    for name, value in vars(options).items():
        if isinstance(value, Address):
            setattr(options, name, open_address(value, is_root=name == "root"))
        elif isinstance(value, tuple):
            setattr(options, name, tuple(open_address(item) if isinstance(item, Address) else item for item in value))


def open_address(path: Path | Address, *, is_root: bool = False) -> Path:
    """The path of this machine for a path or an address; raises as `open_addresses`."""
    if isinstance(path, Path):
        return path
    from components.objects.downloads import local_file, local_folder
    from components.objects.hub import is_hub_address
    from components.objects.store import ObjectStore

    if is_root:
        from pipeline.orchestrator.opening import find_remote_roots

        return find_remote_roots(path).open_mirror(path)
    if is_hub_address(path):
        return local_folder(path)
    store, name = ObjectStore(path.rpartition("/")[0]), path.rstrip("/").rpartition("/")[2]
    if store.state(name) is not None:
        return local_file(path)
    # An artifact has a folder for each run that made it.
    runs = ObjectStore(path, tries=1).numbers() if _ARTIFACT in path else []
    return local_folder(f"{path}/{max(runs)}" if runs else path)


def refresh_commits(options: SimpleNamespace) -> None:
    """Looks for new commits of the addresses on the hub in the arguments of a command and in its jobs."""
    from components.objects.hub import is_hub_address, pin_address
    from pipeline.job.files import DEFAULT_JOB, override_tables, pin_addresses, read_tables

    for name, value in vars(options).items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str) and is_hub_address(item) and name not in ("texts", "second"):
                pin_address(item, refresh=True)
            elif (isinstance(item, Path) and item.suffix == ".toml") or (name, item) == ("settings", None):
                pin_addresses(override_tables(read_tables(item or DEFAULT_JOB), read_overrides(options)), refresh=True)


refresh_option = click.option(
    "--refresh",
    is_flag=True,
    help="Look for new commits of hf:// addresses. Without it, they stay as this machine first saw them.",
)
root_option = click.option(
    "--root",
    type=PathOrAddress(),
    default="runs",
    help="The folder of runs and artifacts, or its address, as s3://BUCKET/PREFIX.",
)
set_option = click.option(
    "--set",
    multiple=True,
    metavar="KEY=VALUE",
    help="Replace one setting, such as --set distillation.epochs=5; may be repeated. Paths are relative to the working "
    "directory, not to the job's folder.",
)
seeds_option = click.option(
    "--seeds",
    type=int,
    metavar="N",
    help="Models that are trained, each from its own seed; the same as --set seeds=N.",
)


def job_options(command: Any) -> Any:
    """The options `--seeds`, `--set`, `--refresh` and `--root` of a command that takes a job."""
    return seeds_option(set_option(refresh_option(root_option(command))))


json_option = click.option("--json", is_flag=True, help="Print the result as JSON.")


def job_argument(about: str) -> Any:
    """The argument JOB; `about` is the end of its help, such as the tables that the job must have."""
    return click.argument("settings", metavar="JOB", type=PathOrAddress(), help=f"A job (TOML file){about}.")


any_job_argument = click.argument(
    "settings",
    metavar="[JOB]",
    required=False,
    type=PathOrAddress(),
    help="The job, a TOML file. Default: a job that needs no data of yours.",
)


def read_overrides(options: SimpleNamespace) -> list[str]:
    """The values of `--set` and `--seeds`, as `key=value`."""
    seeds = getattr(options, "seeds", None)
    return [*getattr(options, "set", ()), *([] if seeds is None else [f"seeds={seeds}"])]


def load_job(job: Path, options: SimpleNamespace, console: Console) -> "Settings":
    """The settings of a job with the values of `--set` and `--seeds`, checked with its data; prints warnings."""
    from pipeline.job.checks import check_data
    from pipeline.job.files import load_settings
    from pipeline.views.terminal import write_warnings

    settings = load_settings(job, read_overrides(options))
    write_warnings(console, check_data(settings))
    for source in (settings.checkpoint, settings.reranker):
        if source is not None:
            source.check_content()
    return settings


def refuse_options(options: SimpleNamespace, names: Sequence[str], condition: str) -> None:
    """Refuses options that a command would ignore; `condition` says when, such as `where TEXT is explained`."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False and value != ():
            flag = f"--{name.replace('_', '-')}"
            got = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            raise InputError(f"{flag} must be left out {condition}" + ("" if value is True else f", got {got}"))


@contextlib.contextmanager
def open_store(root: Path) -> Iterator["RootStore"]:
    """Opens the store of a root that a run has made."""
    from pipeline.orchestrator import opening

    if not root.is_dir():
        raise InputError(f"--root must be a folder that exists, got {root}")
    with contextlib.closing(opening.open_store(root, create=False)) as store:
        yield store
