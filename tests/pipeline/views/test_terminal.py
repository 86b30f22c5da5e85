import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table as Grid

from pipeline.orchestrator.observer import Estimate
from pipeline.views import terminal
from pipeline.views.tables import Table, Wrapped
from pipeline.views.terminal import (
    StepLine,
    Terminal,
    cells,
    describe_estimate,
    format_minutes,
    format_seconds,
    open_console,
    write,
)


@pytest.fixture
def clock(monkeypatch):
    """Sets the time of the monotonic clock."""
    now = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


def plain():
    return Console(file=io.StringIO(), width=20)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (4.24, "4.2 s"), (9.96, "10 s"), (59.7, "1 min 00 s"), (185, "3 min 05 s"), (3720, "1 h 02 min")],
)
def test_durations(seconds, text):
    assert format_seconds(seconds) == text


def test_control_characters_reach_no_console():
    console = Console(file=io.StringIO(), width=60, force_terminal=True, color_system=None)
    write(console, "label \x1b[31m\u202e")
    Table(["\x1bname"], [["\x07cell"]], ["\x9bnote"], title="\x1btitle").show(console)
    table = Grid()
    table.add_row(*cells("\x1bcell"))
    console.print(table)
    console.print(Wrapped("\x1bbranch"))
    text = console.file.getvalue()
    assert {character for character in text if not character.isprintable()} == {"\n"}
    for part in (
        r"label \x1b[31m\u202e",
        r"\x1bname",
        r"\x07cell",
        r"\x9bnote",
        r"\x1btitle",
        r"\x1bcell",
        r"\x1bbranch",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("durations", "text"),
    [
        (
            {"a": None},
            "time: no estimate, as this job ran none of these steps in this root before; each step shows its time left",
        ),
        (
            {"a": 60.0, "b": 5.0},
            "time: about 1 min 05 s, the sum of what each step of this job took last time in this root",
        ),
        (
            {"a": 60.0, "b": None, "c": None},
            "time: about 1 min 00 s, the sum of what each step of this job took last time in this root; "
            "without b, c, which it never ran here",
        ),
    ],
)
def test_the_estimate_of_a_run_names_its_basis(durations, text):
    assert describe_estimate(Estimate.of(durations), lambda: None) == text


def test_a_job_that_never_ran_is_guessed():
    text = describe_estimate(Estimate.of({"a": None}), lambda: (250.0, 250.0))
    assert text.startswith("time: about 4 minutes for the whole job, a guess from the sizes of its trainings")
    text = describe_estimate(Estimate.of({"a": None}), lambda: (1620.0, 4260.0))
    assert text.startswith(
        "time: about 27 to 71 minutes (this machine is busy) for the whole job, a guess from the sizes"
    )
    with_history = describe_estimate(Estimate.of({"a": 60.0}), lambda: pytest.fail("never guessed beside measurements"))
    assert with_history.startswith("time: about 1 min 00 s, the sum")


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "1 minute"), (89.0, "1 minute"), (91.0, "2 minutes")])
def test_rough_durations_are_whole_minutes(seconds, text):
    assert format_minutes(seconds, seconds) == text


def test_time_left_comes_from_the_reports(clock):
    line = StepLine(plain(), "[1/2] pretrain", None)
    clock(10)
    line.progress(0, 100, "")
    clock(20)
    line.progress(25, 100, "loss 3.2")
    assert line.text(20) == "[1/2] pretrain  20 s, 25%, about 30 s left, loss 3.2"
    assert line.text(25) == "[1/2] pretrain  25 s, 25%, about 25 s left, loss 3.2"
    assert line.text(50) == "[1/2] pretrain  50 s, 25%, loss 3.2", "what is late has no time left to tell"


def test_time_left_begins_again_with_a_new_phase(clock):
    line = StepLine(plain(), "t", None)
    for now, done in ((0, 0), (1, 100), (2, 0), (4, 50)):
        clock(now)
        line.progress(done, 100, "")
    assert line.text(4) == "t  4.0 s, 50%, about 2.0 s left"


def test_report_without_total_restarts_the_estimate(clock):
    line = StepLine(plain(), "t", None)
    line.progress(0, 0, "compiling")
    clock(90)
    line.progress(1, 1000, "")
    assert line.text(90) == "t  1 min 30 s, 0%", "compiling says nothing of the pace"
    clock(91)
    line.progress(11, 1000, "")
    assert line.text(91) == "t  1 min 31 s, 1%, about 1 min 39 s left"
    line.progress(0, 0, "compiling again")
    assert line.text(92) == "t  1 min 32 s, 1%, compiling again"
    clock(180)
    line.progress(12, 1000, "")
    clock(190)
    line.progress(506, 1000, "")
    assert line.text(190) == "t  3 min 10 s, 50%, about 10 s left"


def test_only_the_end_is_a_hundred_percent(clock):
    line = StepLine(plain(), "t", None)
    for done, shown in ((1999, "99%"), (2000, "100%"), (2000 * 0.29, "29%")):
        line.progress(done, 2000, "")
        assert line.text(1) == f"t  1.0 s, {shown}"


def test_before_the_first_report_the_last_duration_counts(clock):
    assert StepLine(plain(), "t", 30.0).text(10) == "t  10 s, about 20 s left"
    assert StepLine(plain(), "t", 30.0).text(40) == "t  40 s"
    assert StepLine(plain(), "t", None).text(10) == "t  10 s"


def test_odd_reports_do_no_harm(clock):
    line = StepLine(plain(), "t", None)
    line.progress(5, 0, "")
    line.progress(200, 100, "")
    assert line.text(1) == "t  1.0 s, 100%"


def test_without_a_terminal_lines_are_written_from_time_to_time(clock):
    console = plain()
    with StepLine(console, "[1/2] pretrain", None) as line:
        for tenth in range(300):
            clock(tenth / 10)
            line.tick()
    assert console.file.getvalue().splitlines() == [
        f"[1/2] pretrain  {seconds}" for seconds in ("5.0 s", "15 s", "25 s")
    ]


def test_live_line_is_erased_on_a_terminal(clock):
    console = Console(file=io.StringIO(), force_terminal=True, width=40)
    with StepLine(console, "[1/2] pretrain", None) as line:
        line.tick()
        assert "[1/2] pretrain  0.0 s" in console.file.getvalue()
        clock(3)
        line.progress(1, 4, "a note that is longer than the line")
        line.tick()
    drawn = console.file.getvalue()
    assert "[1/2] pretrain  3.0 s, 25%" in drawn
    assert "\x1b[2K" in drawn


def test_steps_side_by_side_have_a_line_each(clock):
    console = Console(file=io.StringIO(), force_terminal=True, width=40)
    lines = Terminal(console)
    lines.begin(["one", "two"])
    with lines.step("one", None, Path("logs")) as one:
        with lines.step("two", None, Path("logs")) as two:
            one.tick()
            two.tick()
            assert "[1/2] one  0.0 s\n[2/2] two  0.0 s" in console.file.getvalue()
        console.file.seek(0)
        console.file.truncate()
        clock(1)
        one.tick()
        assert "[1/2] one  1.0 s" in console.file.getvalue()
        assert "two" not in console.file.getvalue()
    assert console.file.getvalue().endswith("\x1b[1A\x1b[2K")


def test_names_are_aligned_and_each_state_has_its_text():
    console = plain()
    lines = Terminal(console)
    lines.begin(["a", "longer", *(f"n{number}" for number in range(8))])
    lines.finished("a", "cached", 0.1)
    lines.finished("longer", "ran", 1.0)
    lines.finished("n0", "failed", 75.0)
    lines.finished("n1", "refused", 1.0)
    lines.finished("n7", "skipped", 0.0)
    lines.say("[bold] and :cat: are not markup")
    assert console.file.getvalue().splitlines() == [
        "[ 1/10] a       cached",
        "[ 2/10] longer  1.0 s",
        "[ 3/10] n0      failed after 1 min 15 s",
        "[ 4/10] n1      refused after 1.0 s",
        "[10/10] n7      skipped",
        "[bold] and :cat: are not markup",
    ]


def test_the_line_of_a_step_has_its_number_and_the_last_duration(clock):
    lines = Terminal(plain())
    lines.begin(["a", "longer"])
    assert lines.step("a", 30.0, Path("logs")).text(10) == "[1/2] a       10 s, about 20 s left"


def test_a_file_has_room_for_all_columns(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    table = Grid(*("a long heading" for _ in range(7)))
    open_console().print(table)
    assert len(capsys.readouterr().out.splitlines()) == 4, "no heading is broken in two"
    monkeypatch.setenv("COLUMNS", "40")
    assert open_console().width == 40
