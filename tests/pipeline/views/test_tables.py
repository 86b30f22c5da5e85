"""One table, on a screen and as Markdown."""

import io

from rich.console import Console

from pipeline.views.tables import render_table, show_table

HEADINGS, ROWS, NOTES = ["name", "score"], [["a|b", "1.00\n* 2.00"], ["[c]", "3.00"]], ["x 100", "* of two"]


def test_markdown_shows_what_is_said_and_no_marks() -> None:
    assert render_table("both", HEADINGS, ROWS, NOTES) == (
        "# both\n\n| name | score |\n| --- | ---: |\n"
        "| a\\|b | 1.00<br>\\* 2.00 |\n| [c] | 3.00 |\n\n- x 100\n- \\* of two\n"
    )


def test_a_screen_shows_all_cells_and_notes() -> None:
    screen = io.StringIO()
    show_table(HEADINGS, ROWS, NOTES, Console(file=screen, width=60))
    shown = screen.getvalue()
    for said in ("a|b", "* 2.00", "[c]", "3.00", "x 100", "* of two"):
        assert said in shown
    assert "├" in shown, "rows of several lines are parted"
    assert shown.index("1.00") < shown.index("* 2.00")
