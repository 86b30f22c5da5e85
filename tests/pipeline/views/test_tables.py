"""One table, on a screen and as Markdown."""

import io
import re

import pytest
from rich.console import Console

from pipeline.views.tables import render_table, show_grid, show_table

HEADINGS, ROWS, NOTES = ["name", "score"], [["a|b", "1.00\n* 2.00"], ["[c]", "3.00"]], ["x 100", "* of two"]


def test_markdown_shows_what_is_said_and_no_marks() -> None:
    assert render_table("both", HEADINGS, ROWS, NOTES) == (
        "# both\n\n| name | score |\n| --- | ---: |\n"
        "| a\\|b | 1.00<br>\\* 2.00 |\n| \\[c\\] | 3.00 |\n\n- x 100\n- \\* of two\n"
    )


def test_a_screen_shows_all_cells_and_notes() -> None:
    screen = io.StringIO()
    show_table(HEADINGS, ROWS, NOTES, Console(file=screen, width=60))
    shown = screen.getvalue()
    for said in ("a|b", "* 2.00", "[c]", "3.00", "x 100", "* of two"):
        assert said in shown
    assert "├" in shown, "rows of several lines are parted"
    assert shown.index("1.00") < shown.index("* 2.00")


def test_a_narrow_screen_cuts_no_word() -> None:
    screen = io.StringIO()
    rows = [["model.tflite", "0.02 / 0.03 / 0.04"]]
    show_grid(["file", "16 tokens"], rows, Console(file=screen, width=26), title="[times]")
    title, *lines = screen.getvalue().splitlines()
    assert title.strip() == "[times]"
    below = [line.strip("│ ").split() for line in lines[4:-1]]
    assert below == [["model.tflite", "│", "0.02", "/"], ["0.03", "/"], ["0.04"]]


def test_columns_that_do_not_fit_stand_one_below_the_other() -> None:
    screen = io.StringIO()
    rows = [["model.tflite", "0.02 / 0.03 / 0.04"], ["model.onnx", ""]]
    show_grid(["file", "16 tokens"], rows, Console(file=screen, width=23), title="times")
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


def test_notes_wrap_on_a_terminal_alone() -> None:
    for is_terminal, lines in ((True, ["the longest row of", "all"]), (False, ["the longest row of all"])):
        screen = io.StringIO()
        console = Console(file=screen, width=20, force_terminal=is_terminal)
        show_table(["a"], [["1"]], ["the longest row of all"], console)
        assert screen.getvalue().splitlines()[-len(lines) :] == lines


def test_no_colours_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for piped in (True, False):
        screen = io.StringIO()
        monkeypatch.setenv("NO_COLOR", "1")
        show_table(HEADINGS, ROWS, NOTES, Console(file=screen, force_terminal=not piped, width=60))
        codes = {code for codes in re.findall("\x1b\\[([0-9;]*)m", screen.getvalue()) for code in codes.split(";")}
        # Bold is not a colour.
        assert codes <= (set() if piped else {"0", "1"})
