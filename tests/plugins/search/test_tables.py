"""The tables of a search for settings, to the letter."""

import io

from rich.console import Console

from components.artifacts.evaluation import SeedScores
from plugins.search.results import Finalist, SettingsResult, SettingWorth, StageResult, Winner
from plugins.search.study import Level, Trial
from plugins.search.tables import (
    finalists_table,
    render_search,
    settings_table,
    show_search,
    trials_table,
)

RATE, SIZE = "fine_tuning.learning_rate", "fine_tuning.batch_size"


def score(*seeds):
    return SeedScores(sum(seeds) / len(seeds), 0.01 if len(seeds) > 1 else None, [*seeds])


def trial(number, state, rate, value):
    return Trial(number, {RATE: rate, SIZE: 16}, state, value, (), "", 61.0)


def result(importance=None):
    levels = [Level(1e-5, 1e-4, 0, 1, None, None), Level(1e-4, 1e-3, 1, 0, 0.9, 0.9)]
    teacher = StageResult(
        metric="macro_f1",
        rows=500,
        winner=Winner("2", {RATE: 3e-4, SIZE: 16}),
        later=["quantization"],
        finalists={
            "2": Finalist({RATE: 3e-4, SIZE: 16}, score(0.9, 0.92)),
            "job": Finalist({RATE: 1e-4, SIZE: 32}, score(0.88, 0.9)),
        },
        job_score=0.88,
        trials=[trial(1, "pruned", 1e-5, None), trial(2, "done", 3e-4, 0.9)],
        settings={
            RATE: SettingWorth(1e-4, importance, levels),
            SIZE: SettingWorth(32, importance, [Level(16, 16, 1, 1, 0.9, 0.9)]),
        },
    )
    values = {RATE: 3e-4, SIZE: 16}
    return SettingsResult(
        name="reviews",
        sampler="tpe",
        minutes=60.0,
        seeds=2,
        metric="macro_f1",
        rows=500,
        stages={"teacher": teacher},
        values=values,
        seconds=125.0,
    )


def test_the_winner_stands_first_beside_the_settings_of_the_job():
    table = finalists_table(result(), "teacher", result().stages["teacher"])
    assert table.headings == ["settings", "validation macro f1, 2 seeds", "against the job's", "values"]
    assert table.rows == [
        ["trial 2 •", "91.00 ± 1.00", "+2.00", f"{RATE} = 0.0003\n{SIZE} = 16"],
        ["the job's own settings", "89.00 ± 1.00", "", f"{RATE} = 0.0001\n{SIZE} = 32"],
    ]


def test_a_row_for_each_value_with_shares_of_variance_where_there_are_enough_trials():
    table = settings_table("teacher", result().stages["teacher"])
    assert table.headings == ["setting", "values", "trials", "pruned", "mean score", "best score"]
    assert table.rows == [
        [RATE, "1e-05 to 0.0001", "0", "1", "", ""],
        ["", "0.0001 to 0.001", "1", "0", "90.00", "90.00"],
        [SIZE, "16", "1", "1", "90.00", "90.00"],
    ]
    table = settings_table("teacher", result(0.5).stages["teacher"])
    assert table.headings[-1] == "share of variance"
    assert [row[-1] for row in table.rows] == ["50 %", "", "50 %"]


def test_all_trials_with_their_values():
    table = trials_table("teacher", result().stages["teacher"])
    assert table.headings == ["trial", "validation score", "time", RATE, SIZE]
    assert table.rows == [
        ["job", "88.00", "", "0.0001", "32"],
        ["1", "pruned", "1 min 01 s", "1e-05", "16"],
        ["2", "90.00", "1 min 01 s", "0.0003", "16"],
    ]


def test_notes_say_what_the_numbers_are_and_what_they_are_not():
    console = Console(file=io.StringIO(), width=160)
    show_search(result(), console)
    text = console.file.getvalue()
    assert "trials were scored before quantization, the best few after" in text
    assert "2 trials besides the job's own settings: 1 whole, 1 pruned, 0 rejected" in text
    assert "no shares of variance: they need 20 whole trials" in text
    assert text.endswith("the search took 2 min 05 s of 60 minutes\n")
    assert "fANOVA" in render_search(result(0.5))
    assert "| trial 2 • |" in render_search(result())
