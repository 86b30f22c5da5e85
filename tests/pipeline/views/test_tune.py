"""The tables of a search for settings, to the letter."""

import io
from typing import Any

from rich.console import Console

from pipeline.views.tune import build_finalists, build_settings, build_trials, render_tuning, show_tuning

RATE, SIZE = "fine_tuning.learning_rate", "fine_tuning.batch_size"


def score(*seeds: float) -> dict[str, Any]:
    return {"mean": sum(seeds) / len(seeds), "sd": 0.01 if len(seeds) > 1 else None, "seeds": [*seeds]}


def level(low: Any, high: Any, trials: int, pruned: int, mean: float | None) -> dict[str, Any]:
    return {"low": low, "high": high, "trials": trials, "pruned": pruned, "mean": mean, "best": mean}


def trial(number: int, state: str, rate: float, value: float | None) -> dict[str, Any]:
    return {"number": number, "state": state, "values": {RATE: rate, SIZE: 16}, "score": value, "seconds": 61.0}


def content(importance: float | None = None) -> dict[str, Any]:
    record = {
        "winner": {"name": "2", "values": {RATE: 3e-4, SIZE: 16}},
        "later": ["quantization"],
        "finalists": {
            "2": {"values": {RATE: 3e-4, SIZE: 16}, "score": score(0.9, 0.92)},
            "job": {"values": {RATE: 1e-4, SIZE: 32}, "score": score(0.88, 0.9)},
        },
        "job_score": 0.88,
        "trials": [trial(1, "pruned", 1e-5, None), trial(2, "done", 3e-4, 0.9)],
        "settings": {
            RATE: {
                "job": 1e-4,
                "importance": importance,
                "levels": [level(1e-5, 1e-4, 0, 1, None), level(1e-4, 1e-3, 1, 0, 0.9)],
            },
            SIZE: {"job": 32, "importance": importance, "levels": [level(16, 16, 1, 1, 0.9)]},
        },
    }
    return {
        "name": "reviews",
        "sampler": "tpe",
        "minutes": 60.0,
        "seeds": 2,
        "metric": "macro_f1",
        "rows": 500,
        "stages": {"teacher": record},
        "values": {RATE: 3e-4, SIZE: 16},
        "seconds": 125.0,
    }


def test_the_winner_stands_first_beside_the_settings_of_the_job() -> None:
    headings, rows = build_finalists(content(), content()["stages"]["teacher"])
    assert headings == ["settings", "validation macro f1, 2 seeds", "against the job's", "values"]
    assert rows == [
        ["trial 2 •", "91.00 ± 1.00", "+2.00", f"{RATE} = 0.0003\n{SIZE} = 16"],
        ["the job's own settings", "89.00 ± 1.00", "", f"{RATE} = 0.0001\n{SIZE} = 32"],
    ]


def test_a_row_for_each_value_with_shares_of_variance_where_there_are_enough_trials() -> None:
    headings, rows = build_settings(content()["stages"]["teacher"])
    assert headings == ["setting", "values", "trials", "pruned", "mean score", "best score"]
    assert rows == [
        [RATE, "1e-05 to 0.0001", "0", "1", "", ""],
        ["", "0.0001 to 0.001", "1", "0", "90.00", "90.00"],
        [SIZE, "16", "1", "1", "90.00", "90.00"],
    ]
    headings, rows = build_settings(content(0.5)["stages"]["teacher"])
    assert headings[-1] == "share of variance"
    assert [row[-1] for row in rows] == ["50 %", "", "50 %"]


def test_all_trials_with_their_values() -> None:
    headings, rows = build_trials(content()["stages"]["teacher"])
    assert headings == ["trial", "validation score", "time", RATE, SIZE]
    assert rows == [
        ["job", "88.00", "", "0.0001", "32"],
        ["1", "pruned", "1 min 01 s", "1e-05", "16"],
        ["2", "90.00", "1 min 01 s", "0.0003", "16"],
    ]


def test_notes_say_what_the_numbers_are_and_what_they_are_not() -> None:
    console = Console(file=io.StringIO(), width=160)
    show_tuning(content(), console)
    text = console.file.getvalue()
    assert "trials were scored before quantization, the best few after" in text
    assert "2 trials besides the job's own settings: 1 whole, 1 pruned, 0 rejected" in text
    assert "no shares of variance: they need 20 whole trials" in text
    assert text.endswith("the search took 2 min 05 s of 60 minutes\n")
    assert "fANOVA" in render_tuning(content(0.5))
    assert "| trial 2 • |" in render_tuning(content())
