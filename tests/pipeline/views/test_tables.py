"""One table, on a screen and as Markdown, and the lines of its cells."""

import io
import re

import pytest
from rich.console import Console
from rich.tree import Tree

from pipeline.views.tables import Table, Wrapped, column_widths, wrap

BOTH = Table(["name", "score"], [["a|b", "1.00\n* 2.00"], ["[c]", "3.00"]], ["x 100", "* of two"], "both")


def test_markdown_shows_what_is_said_and_no_marks():
    assert BOTH.as_markdown() == (
        "# both\n\n| name | score |\n| --- | ---: |\n"
        "| a\\|b | 1.00<br>\\* 2.00 |\n| \\[c\\] | 3.00 |\n\n- x 100\n- \\* of two\n"
    )


def test_a_screen_shows_all_cells_and_notes():
    screen = io.StringIO()
    BOTH.show(Console(file=screen, width=60))
    shown = screen.getvalue()
    for said in ("a|b", "* 2.00", "[c]", "3.00", "x 100", "* of two"):
        assert said in shown
    assert "├" in shown, "rows of several lines are parted"
    assert shown.index("1.00") < shown.index("* 2.00")


def test_a_narrow_screen_cuts_no_word():
    screen = io.StringIO()
    rows = [["model.tflite", "0.02 / 0.03 / 0.04"]]
    Table(["file", "16 tokens"], rows, title="[times]").show(Console(file=screen, width=26))
    title, *lines = screen.getvalue().splitlines()
    assert title.strip() == "[times]"
    below = [line.strip("│ ").split() for line in lines[4:-1]]
    assert below == [["model.tflite", "│", "0.02", "/"], ["0.03", "/"], ["0.04"]]


def test_columns_that_do_not_fit_stand_one_below_the_other():
    screen = io.StringIO()
    rows = [["model.tflite", "0.02 / 0.03 / 0.04"], ["model.onnx", ""]]
    Table(["file", "16 tokens"], rows, title="times").show(Console(file=screen, width=23))
    assert screen.getvalue().splitlines() == [
        "times",
        "file       model.tflite",
        "16 tokens  0.02 / 0.03",
        "           / 0.04",
        "",
        "file       model.onnx",
        "16 tokens",
        "",
    ]


def test_notes_wrap_on_a_terminal_alone():
    for is_terminal, lines in ((True, ["the longest row of", "all"]), (False, ["the longest row of all"])):
        screen = io.StringIO()
        console = Console(file=screen, width=20, force_terminal=is_terminal)
        Table(["a"], [["1"]], ["the longest row of all"]).show(console)
        assert screen.getvalue().splitlines()[-len(lines) :] == lines


def test_no_colours_where_nobody_wants_them(monkeypatch):
    for piped in (True, False):
        screen = io.StringIO()
        monkeypatch.setenv("NO_COLOR", "1")
        BOTH.show(Console(file=screen, force_terminal=not piped, width=60))
        codes = {code for codes in re.findall("\x1b\\[([0-9;]*)m", screen.getvalue()) for code in codes.split(";")}
        # Bold is not a colour.
        assert codes <= (set() if piped else {"0", "1"})


PATH = "artifacts/ingest_examples/examples-4704c0182a40"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a small model", 7, ["a small", "model"]),
        ("a small model", 20, ["a small model"]),
        (PATH, 30, ["artifacts/ingest_examples/", "examples-4704c0182a40"]),
        ("  left: 2 ADD", 9, ["  left: 2", "ADD"]),
        ("one\ntwo three", 5, ["one", "two", "three"]),
        ("0.02 / 0.03", 6, ["0.02 /", "0.03"]),
        ("incomprehensible", 6, ["incomp", "rehens", "ible"]),
        ("小さい模型 x", 6, ["小さい", "模型 x"]),
        ("", 4, [""]),
    ],
)
def test_wrap(text, width, lines):
    assert wrap(text, width) == lines


def test_the_widest_column_gives_way_and_no_word_is_cut():
    columns = [["file", "model.tflite"], ["path", "artifacts/push/pushed"]]
    assert column_widths(columns, 40) == [12, 21]
    assert column_widths(columns, 30) == [12, 18]
    assert column_widths(columns, 22) == [12, 10]
    assert column_widths(columns, 21) is None


def test_a_branch_wraps_at_its_own_width():
    tree = Tree("root")
    tree.add(Wrapped(f"examples: {PATH} [bold]"))
    file = io.StringIO()
    Console(width=34, file=file).print(tree)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "root",
        "└── examples: artifacts/",
        "    ingest_examples/",
        "    examples-4704c0182a40 [bold]",
    ]
