"""What may be typed: each verb has an action, and an example that can be typed."""

import shlex
from pathlib import Path

import pytest

from pipeline.commands.command import PROGRAM, Command
from pipeline.commands.help import example
from pipeline.commands.parser import make_parser
from pipeline.commands.registry import GROUPS

COMMANDS = [command for commands in GROUPS.values() for command in commands]


def _help(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit, match="0"):
        make_parser().parse_args([*arguments, "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_example_of_a_verb_parses_as_that_verb(command: Command) -> None:
    typed = shlex.split(command.example)
    assert typed[0] == command.name
    assert make_parser().parse_args(typed).command is command


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_a_verb_fits_80_columns_and_shows_its_example(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, command: Command
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = _help(capsys, command.name)
    assert max(map(len, text.splitlines())) < 80
    assert "\x1b" not in text
    shown = text.partition("example:\n")[2].replace("\\\n", " ")
    assert shlex.split(shown) == [PROGRAM, *shlex.split(command.example)]


def test_help_lists_every_verb_once_below_its_goal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = _help(capsys)
    assert max(map(len, text.splitlines())) < 80
    lines = text.splitlines()
    for title, commands in GROUPS.items():
        below = lines[lines.index(f"{title}:") + 1 :]
        below = below[: below.index("")]
        assert [line.split()[0] for line in below if not line.startswith("   ")] == [
            command.name for command in commands
        ]


def test_a_long_example_goes_on_before_an_option() -> None:
    line = f"{PROGRAM} shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 --min-share 0.96 --minutes 60"
    assert example(line).splitlines() == [
        "example:",
        "  keras-bert-edge shrink reviews.toml --max-megabytes 3 --max-milliseconds 2 \\",
        "      --min-share 0.96 --minutes 60",
    ]


def test_help_breaks_no_option_at_its_hyphens(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    words = _help(capsys, "shrink").split()
    assert not [word for word in words if word.endswith("-")]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("explain model --method occlusion text", {"text": "text", "second": None, "method": "occlusion"}),
        ("explain model text --steps 4 context --json", {"text": "text", "second": "context", "steps": 4}),
        ("explain --rows 5 job.toml", {"text": None, "rows": 5}),
        ("predict model --second b a", {"texts": ["a"], "second": ["b"]}),
        ("predict model a --second c b --second d", {"texts": ["a", "b"], "second": ["c", "d"]}),
        ("predict model --second x -- -5 --text", {"texts": ["-5", "--text"], "second": ["x"]}),
        ("predict --table rows.csv model --text t", {"texts": [], "table": "rows.csv", "text": "t"}),
        ("step fine_tune --run 7 job.toml", {"step": "fine_tune", "settings": Path.cwd() / "job.toml"}),
    ],
)
def test_options_may_stand_anywhere(line: str, values: dict[str, object]) -> None:
    options = vars(make_parser().parse_args(line.split()))
    assert {name: options[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("explain model text --steps 4 context more", "unrecognized arguments: more"),
        ("explain model --mehtod text", "unrecognized arguments: --mehtod"),
        ("step --root runs", "the following arguments are required: STEP"),
        ("compile --out file", "the following arguments are required: --to"),
    ],
)
def test_what_cannot_be_read_is_refused(capsys: pytest.CaptureFixture[str], line: str, message: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        make_parser().parse_args(line.split())
    assert f"error: {message}" in capsys.readouterr().err
