"""What may be typed: each command has help of 80 columns, and an example that can be typed."""

import shlex
from pathlib import Path

import pytest

from components.examples.registry import TASK_ROWS
from pipeline.cli import command_groups, main
from pipeline.commands.command import PROGRAM, Verb, wrap_example
from pipeline.commands.init import TASKS
from tests.docs.commands import parse
from tests.pipeline.command_line import said

COMMANDS = [name for names in command_groups().values() for name in names]


def _help(capsys, *arguments):
    return said(capsys, *arguments, "--help")


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_80_columns_and_shows_an_example_that_parses(capsys, monkeypatch, columns, name):
    monkeypatch.setenv("COLUMNS", columns)
    text = _help(capsys, name)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    typed = shlex.split(text.partition("Example:\n")[2].replace("\\\n", " "))
    assert typed[:2] == [PROGRAM, name]
    command = parse(typed[1:]).command
    assert isinstance(command, Verb)
    assert shlex.split(command.example) == typed[1:]


def test_help_lists_every_command_on_one_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = _help(capsys)
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert "..." not in text.partition("Options:")[2], "each purpose is whole"
    for goal, names in command_groups().items():
        below = lines[lines.index(f"{goal}:") + 1 :]
        assert [line.split()[0] for line in below[: len(names)]] == list(names)


def test_a_long_example_goes_on_in_the_next_line():
    example = 'describe runs/pushed/reviews/1/model.tflite --time --length 32 --length 128 --name "two words"'
    assert wrap_example(example).splitlines() == [
        "keras-bert-edge describe runs/pushed/reviews/1/model.tflite --time \\",
        '      --length 32 --length 128 --name "two words"',
    ]


def test_init_drafts_every_task():
    assert tuple(TASK_ROWS) == TASKS


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("predict model --second b a", {"texts": ("a",), "second": ("b",)}),
        ("predict model a --second c b --second d", {"texts": ("a", "b"), "second": ("c", "d")}),
        ("predict model --second x -- -5 --text", {"texts": ("-5", "--text"), "second": ("x",)}),
        ("predict --table rows.csv model --text t", {"texts": (), "table": "rows.csv", "text": "t"}),
        ("step fine_tune --run 7 job.toml", {"step": "fine_tune", "settings": Path.cwd() / "job.toml"}),
    ],
)
def test_options_may_stand_anywhere(line, values):
    options = parse(line.split()).params
    assert {name: options[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("diff 1 2 more", "Got unexpected extra argument (more)"),
        ("report --trakc mlflow", "No such option '--trakc'. Did you mean '--track'?"),
        ("step --root runs", "Missing argument 'STEP'."),
        (
            "pridect model",
            "There is no command 'pridect', here or in a plug-in that is installed. Did you mean 'predict'?",
        ),
        ("", "Missing command."),
        ("check rows.csv", "Missing option '--against'."),
    ],
)
def test_what_cannot_be_read_is_refused(capsys, line, message):
    assert main(line.split()) == 2
    name = "" if "command" in message else f" {line.split()[0]}"
    assert capsys.readouterr().err == f"error: {message} (see {PROGRAM}{name} --help)\n"
