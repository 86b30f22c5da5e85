import contextlib
import io
import shutil

from rich.console import Console

from pipeline.orchestrator.store import Store
from pipeline.provenance.difference import Pair, RunDifference, find_difference
from pipeline.views.provenance import show_difference
from tests.pipeline.provenance.made_up import Jobs


def test_settings_states_and_scores(tmp_path):
    jobs = Jobs(tmp_path)
    one, other = jobs.run("a", 0.5), jobs.run("b", 0.625, seeds=3, push=False)
    difference = find_difference(jobs.store, tmp_path, one, other)
    assert difference.settings == {"training.seeds": (1, 3)}
    assert difference.steps == {"push": ("ran", None)}
    assert difference.scores == {"teacher": {"accuracy": (0.5, 0.625), "megabytes": (1.5, 1.5)}}
    file = io.StringIO()
    show_difference(difference, one, other, Console(width=120, file=file))
    assert "│ teacher │ accuracy  │ 50.00 │ 62.50 │ +12.50" in file.getvalue()


def test_scores_of_several_tasks_have_their_names(tmp_path):
    jobs = Jobs(tmp_path)
    runs = jobs.run("a", 0.5, task="mood"), jobs.run("b", 0.625, task="names")
    scores = find_difference(jobs.store, tmp_path, *runs).scores
    assert scores["mood teacher"]["accuracy"] == (0.5, None)
    assert scores["names teacher"]["accuracy"] == (None, 0.625)


def test_errors_are_in_the_unit_of_the_labels():
    scores = {"teacher": {"r2": Pair(0.5, 0.625), "rmse": Pair(0.5, 0.625), "mae": Pair(0.25, None)}}
    file = io.StringIO()
    show_difference(RunDifference({}, {}, scores), 1, 2, Console(width=120, file=file))
    rows = [
        [cell.strip() for cell in line.split("│")[2:-1]] for line in file.getvalue().splitlines() if "teacher" in line
    ]
    assert rows == [["r2", "50.00", "62.50", "+12.50"], ["rmse", "0.5", "0.625", "+0.125"], ["mae", "0.25", "", ""]]


def test_equal_runs(tmp_path):
    jobs = Jobs(tmp_path)
    difference = find_difference(jobs.store, tmp_path, jobs.run("a"), 1)
    assert (difference.settings, difference.steps) == ({}, {})
    file = io.StringIO()
    show_difference(difference, 1, 1, Console(width=120, file=file))
    assert file.getvalue().startswith("settings: the same\nsteps: the same\n")


def test_what_is_not_known_is_said(tmp_path):
    jobs = Jobs(tmp_path)
    jobs.run("a")
    bare = jobs.store.start_run("job")
    shutil.rmtree(tmp_path / "artifacts" / "evaluate")
    jobs.store.forget(["artifacts/evaluate/out-a"])
    difference = find_difference(jobs.store, tmp_path, 1, bare)
    assert difference.settings is None
    assert difference.scores == {}


def test_a_table_that_is_left_out_is_none_and_so_are_its_keys(tmp_path):
    with contextlib.closing(Store(tmp_path)) as store:
        for student in (None, {"layers": [1], "hidden_size": None}):
            store.finish_run(store.start_run("job", {"name": "job", "student": student}), "done")
        difference = find_difference(store, tmp_path, 1, 2)
    assert difference.settings == {"student.layers": (None, [1])}
    file = io.StringIO()
    show_difference(difference, 1, 2, Console(width=120, file=file))
    assert "│ student.layers │ none  │ [1]   │" in file.getvalue()
