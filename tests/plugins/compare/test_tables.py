"""The table of a comparison, to the letter, and what it takes to read it."""

import pytest

from plugins.compare.tables import comparison_table
from tests.pipeline.views.contents import cells, content, headings, lines_of, pretraining, score, screen

CLEAR = {"mean": 0.02, "low": 0.01, "high": 0.03, "p": 0.01, "significant": True, "holm": True}
SOME = {"mean": -0.01, "low": -0.019, "high": -0.001, "p": 0.04, "significant": True, "holm": False}
NONE = {"mean": 0.0, "low": None, "high": None, "p": None, "significant": False, "holm": False}
TABLE = content(
    {
        "base": {"parameters": 950_000, "pretraining": pretraining([4.0, 3.5]), "tasks": {"[a]": score(0.8)}},
        "spans": {
            "parameters": 1_234_000,
            "pretraining": pretraining([4.0, 3.25], ["masking"]),
            "tasks": {"[a]": score(0.82, CLEAR)},
        },
        "small": {"parameters": 9, "pretraining": pretraining([5.0]), "tasks": {"[a]": score(0.79, SOME)}},
        "start": {"parameters": 9, "tasks": {"[a]": score(0.8, NONE)}},
    },
    budget={"unit": "flops", "amount": 2e12},
)


def shown(given):
    console = screen()
    comparison_table(given).show(console)
    return lines_of(console)


def test_a_row_a_variant():
    lines = shown(TABLE)
    expected = ["variant", "parameters", "steps", "FLOPs", "min", "held-out loss", "[a] macro f1"]
    assert headings(lines, "variant") == expected
    assert cells(lines) == [
        ["base", "950,000", "1,200", "2.00e+12", "1.5", "3.500", "80.00 ± 1.00"],
        ["spans", "1.23 M", "1,200", "2.00e+12", "1.5", "(3.250)", "82.00 ± 1.00"],
        ["", "", "", "", "", "", "+2.00 [+1.00, +3.00] **"],
        ["small", "9", "1,200", "2.00e+12", "1.5", "5.000", "79.00 ± 1.00"],
        ["", "", "", "", "", "", "-1.00 [-1.90, -0.10] *"],
        ["start", "9", "", "", "", "", "80.00 ± 1.00"],
        ["", "", "", "", "", "", "+0.00"],
    ]
    notes = comparison_table(TABLE).notes
    assert lines[-len(notes) :] == notes


def test_notes_tell_how_to_read_it():
    notes = comparison_table(TABLE).notes
    assert notes[0] == "budget: 2e+12 FLOPs of pre-training for each variant, as whole steps of its own cost"
    assert any(note.endswith("not to be compared with it: spans (masking)") for note in notes)
    assert "scores: x 100, on test rows ([a] 872); mean ± standard deviation over 3 seeds" in notes
    assert any("** also among all 2 that were tested (Holm 1979)" in note for note in notes)
    assert "3 seeds: the interval reaches 2.5 standard deviations" in notes[-1]
    assert "only large ones show" in notes[-1]
    alike = comparison_table(content(TABLE["variants"], tests=0)).notes
    assert any(note.endswith("none has a spread over seeds that could be tested") for note in alike)
    minutes = content(TABLE["variants"], budget={"unit": "seconds", "amount": 90.0}, seeds=1)
    assert comparison_table(minutes).notes[0].startswith("budget: 1.5 minutes of pre-training")
    assert comparison_table(minutes).notes[-1].endswith("with one seed there is no estimate of variance")


def test_where_vocabularies_differ_losses_are_told_in_bits_a_byte_too():
    lines = shown(content(TABLE["variants"], pieces_differ=True))
    assert [row[5:7] for row in cells(lines) if row[0]] == [
        ["3.500", "0.875"],
        ["(3.250)", "(0.812)"],
        ["5.000", "1.250"],
        ["", ""],
    ]
    assert any(line.startswith("bits a byte: ") for line in lines)


@pytest.mark.parametrize("tasks", [{}, {"a": score(0.5), "b": score(0.6), "average": {**score(0.55, metric="")}}])
def test_tasks_have_columns_and_checkpoints_have_no_pre_training(tasks):
    lines = shown(content({"start": {"parameters": 7, "tasks": tasks}}))
    assert headings(lines, "variant")[2:] == (["a macro f1", "b macro f1", "average"] if tasks else [])
    assert not any("below a score" in line or "FLOPs" in line for line in lines), "there is nothing to compare with"


def test_as_markdown():
    lines = comparison_table(TABLE).as_markdown().splitlines()
    assert lines[:5] == [
        "# mine",
        "",
        "| variant | parameters | steps | FLOPs | min | held-out loss | \\[a\\] macro f1 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| base | 950,000 | 1,200 | 2.00e+12 | 1.5 | 3.500 | 80.00 ± 1.00 |",
    ]
    assert lines[5].endswith(r"| (3.250) | 82.00 ± 1.00<br>+2.00 \[+1.00, +3.00\] \*\* |")
    assert lines[9].startswith("- budget: 2e+12 FLOPs")
