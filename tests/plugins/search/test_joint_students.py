"""A search within limits for a job of several tasks: the steps that it is wired to, without running any."""

import pytest

from pipeline.orchestrator.graph import sources_of
from plugins.search.candidates import Grid
from plugins.search.limits import Limits
from plugins.search.steps import search_pipeline
from plugins.search.student_steps import wire_students
from tests.pipeline.settings.texts import CHECKPOINT, load
from tests.plugins.search.grids import WHOLE, make_bounds

pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")

TASKS = "seeds = 2\n" + CHECKPOINT
TASKS += "[tasks.mood.examples]\ntrain = 'moods.tsv'\n[tasks.mood.evaluation]\nmax_megabytes = 0.03\nmetric = 'mcc'\n"
TASKS += (
    "[tasks.names]\nmax_length = 64\n[tasks.names.examples]\ntrain = 'names.conll'\ntask = 'token_classification'\n"
)
SINGLE = "[student]\nnum_layers = 2\n[sharing]\nteachers = 'single'\n"
SMALL = WHOLE._replace(layers=2)


@pytest.fixture
def job(tmp_path):
    """The wiring and the candidates of such a job, with further tables."""

    def make(text=""):
        settings = load(tmp_path, TASKS + text)
        return wire_students(settings), Grid.of(settings, make_bounds())

    return make


def node_names(handles):
    return {handle.node.name for handle in handles}


def models_behind(node, kind):
    """The steps of a kind that a node depends on."""
    sources = [handle.node for handle in sources_of(node)]
    return {one.name for one in sources if one.component.name == kind}.union(*(models_behind(s, kind) for s in sources))


@pytest.mark.parametrize("table", ["", "[pruning]\n"])
def test_a_trial_scores_the_mean_of_all_tasks_after_quantization_without_pruning(job, table):
    wiring, grid = job(table)
    score = wiring.try_candidate(SMALL, grid, 1 / 3, 1).node
    assert (score.values["names"], score.values["metrics"]) == (("mood", "names"), ("mcc", ""))
    assert [handle.node.name for handle in score.inputs["examples"]] == [
        "ingest_examples-mood",
        "ingest_examples-names",
    ]
    quantized = score.inputs["model"].node
    label = f"{grid.name(SMALL)}-1"
    assert (score.name, quantized.name) == (f"validate-{label}", f"quantize_together-0-{label}")
    assert quantized.values["quantization"].post_training
    student = quantized.inputs["student"].node
    assert student.name == f"distill_together-0-{label}"
    assert student.values["shape"].num_layers == 2
    whole = grid.settings_of(SMALL).distillation.epochs
    assert student.values["distillation"].epochs == pytest.approx(whole / 3)
    # The teacher has the name under which its time was excluded from the search.
    assert student.inputs["teacher"].node.name in node_names(wiring.wire_teachers())


def test_teachers_of_single_tasks_are_no_part_of_the_search(job):
    wiring, _ = job(SINGLE)
    singles = {f"fine_tune-{name}-{seed}" for name in ("mood", "names") for seed in (0, 1)}
    rows = {"ingest_examples-mood", "ingest_examples-names"}
    joint = {"fine_tune_together-0", "fine_tune_together-1"}
    assert node_names(wiring.wire_teachers()) == singles | joint | rows
    _, measured = wiring.measure_teacher()
    assert measured.validation.node.inputs["model"].node.name == "fine_tune_together-0", "the share is one of this"
    assert node_names(job()[0].wire_teachers()) == joint | rows


def test_the_vocabulary_and_the_longest_text_are_those_of_all_tasks(job):
    wiring, grid = job()
    assert {candidate.vocabulary_size for candidate in grid.members} == {WHOLE.vocabulary_size}
    assert wiring.max_length == 128
    times = wiring.time_training(SMALL, grid).node
    assert times.values["names"] == ("mood", "names")
    assert len(times.inputs["examples"]) == 2


def test_the_winner_of_each_seed_is_scored_as_its_file_answers(job):
    wiring, grid = job()
    outputs = wiring.train_winner(SMALL, grid)
    assert [output.validation.node.inputs["edge"].node.name for output in outputs] == [
        "export_together-0",
        "export_together-1",
    ]
    assert {output.latency.node.values["lengths"] for output in outputs} == {(128,)}
    search_pipeline(grid.settings, [handle for output in outputs for handle in output])  # no name twice


def test_the_stricter_limit_of_each_task_holds_for_the_push_and_the_version_before_is_no_bar(job, tmp_path):
    wiring, grid = job()
    outputs = wiring.push_winner(SMALL, grid, tmp_path, Limits(megabytes=0.042, download_megabytes=0.02))
    assert [*outputs.evaluations] == ["mood", "names"]
    limits = {name: handle.node.values["thresholds"] for name, handle in outputs.evaluations.items()}
    assert {name: (one.max_megabytes, one.max_download_megabytes) for name, one in limits.items()} == {
        "mood": (0.03, 0.02),
        "names": (0.042, 0.02),
    }
    assert {one.max_regression for one in limits.values()} == {100.0}
    assert limits["mood"].metric == "mcc"
    assert models_behind(outputs.pushed.node, "distill_together") == {"distill_together-0", "distill_together-1"}


def test_the_push_trains_no_models_of_single_tasks_to_compare_with(job, tmp_path):
    """Their trainings would follow after the time of the search."""
    wiring, grid = job("[tasks.mood]\ncompare_single = true\n")
    pushed = wiring.push_winner(SMALL, grid, tmp_path, Limits(megabytes=0.042)).pushed.node
    assert not models_behind(pushed, "fine_tune") | models_behind(pushed, "measure_single")
    assert grid.settings.tasks["mood"].compare_single
    assert not {table for table in grid.tables(SMALL) if table not in ("student", "quantization")}


def test_the_time_of_a_training_has_the_turns_of_the_job(job):
    wiring, grid = job("[sharing]\ntemperature = 3.0\n")
    assert wiring.time_training(SMALL, grid).node.values["temperature"] == 3.0
    assert job()[0].time_training(SMALL, grid).node.values["temperature"] == 1.0
