"""Checks commands of the documentation against the parser, the Makefile, and the modules that they name."""

import re
import shlex
from pathlib import Path

import click
import pytest

from pipeline.cli import command_groups, program
from pipeline.commands.command import PROGRAM

REPOSITORY = Path(__file__).parents[2]
VERBS = {name for names in command_groups().values() for name in names}
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


def check_command(line):
    """Raises AssertionError for a command that would be refused, or that nothing here can check."""
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        words = words[1:]
    program = words[0].removeprefix(".venv/bin/")
    if program == "keras-bert-edge":
        parse_arguments(words[1:])
    elif program == "make":
        unknown = [word for word in words[1:] if "=" not in word and word not in TARGETS]
        assert not unknown, f"{line}: no target {unknown} in the Makefile"
    elif program == "python" and words[1:2] == ["-m"]:
        check_module(words[2], words[3:])
    else:
        raise AssertionError(f"{line}: mark it `<!-- not run: WHY -->`, as no test can check it")


def parse_arguments(words):
    """Parses a command line by the real parser; a lone verb, as text names it, only has to exist."""
    if len(words) == 1 and words[0] in VERBS:
        return
    if words[-1:] == ["--help"]:
        assert words[:-1] in ([], ["COMMAND"]) or words[0] in VERBS
        return
    try:
        parse(words)
    except click.exceptions.Exit:
        return
    except click.UsageError as error:
        raise AssertionError(f"the parser refuses: {shlex.join(words)}: {error.format_message()}") from None


def parse(words):
    """The context of a command that these words call; `params` holds its arguments.

    Raises:
        click.UsageError: the command line is refused.
    """
    context = program.make_context(PROGRAM, [*words])
    name, command, rest = program.resolve_command(context, [*words])
    return command.make_context(name, rest, parent=context)


def check_module(module, words):
    """The module is there, and names each option in its source, its package's or that of the benchmarks' harness."""
    if module == "pytest":
        return
    file = REPOSITORY / (module.replace(".", "/") + ".py")
    package = file.with_suffix("")
    assert file.is_file() or package.is_dir(), f"there is no module {module}"
    sources = [file.read_text()] if file.is_file() else [path.read_text() for path in package.glob("*.py")]
    sources += [path.read_text() for path in (REPOSITORY / "benchmarks" / "harness").glob("*.py")]
    for word in words:
        if word.startswith("--"):
            assert any(re.search(rf"{word}\b", source) for source in sources), f"{module} has no option {word}"


def raises(line, message):
    """Asserts that a command is refused with this message."""
    with pytest.raises(AssertionError, match=message):
        check_command(line)
