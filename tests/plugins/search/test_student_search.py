"""A search whose steps are made up: what it asks for in which order, and what it refuses when."""

import pytest

from components.artifacts.measurements import FileFootprint, Latency
from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.orchestrator.runner import RunResult, StepResult
from pipeline.pipelines import pipeline_of
from plugins.search.artifacts import SearchSpace, TrainingCost, TrainingTimes, Validation, ValidationScore
from plugins.search.budget import SearchBudget
from plugins.search.limits import Limits
from plugins.search.student_search import StudentSearch
from plugins.search.student_steps import wire_students
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load
from tests.plugins.search.grids import WHOLE, grid, job, make_bounds

SECONDS = 10.0
CONTENTS = {
    "measure_search_space": ("search_space", SearchSpace, make_bounds()),
    "validate": ("validation", Validation, ValidationScore("accuracy", 0.9, 100)),
    "measure_footprint": ("latency", Latency, {"file": FileFootprint(1_000_000, 900_000, {"128": 1.0})}),
    "measure_distillation": ("cost", TrainingCost, TrainingTimes(1.0, 2, {"train": 320, "validation": 32})),
}


class Steps:
    """Steps that take ten seconds each and say what `CONTENTS` has; remembers what ran, the teacher's steps aside."""

    def __init__(self, folder):
        self.ran, self._folder = list[str](), folder

    def run_pipeline(self, pipeline, *_, **__):
        """In place of `run_pipeline`."""
        steps = [self._step(node) for node in pipeline.nodes if node.component.name in CONTENTS]
        self.ran += [step.name for step in steps]
        return RunResult(1, self._folder, "done", tuple(steps))

    def _step(self, node):
        output, kind, content = CONTENTS[node.component.name]
        artifact = kind(self._folder / node.name / str(len(self.ran)))
        artifact.path.mkdir(parents=True)
        artifact.write(content)
        return StepResult(node.name, "ran", SECONDS, {output: artifact}, worked=SECONDS)


def test_a_time_that_is_too_short_is_told_before_all_recipes_are_weighed(tmp_path, monkeypatch):
    steps = Steps(tmp_path)
    monkeypatch.setattr("plugins.search.runs.run_pipeline", steps.run_pipeline)
    limits, budget = Limits(0.9, megabytes=8.0), SearchBudget(180.0, None, 1)
    search = StudentSearch(job(tmp_path), limits, budget, tmp_path, Observer())
    with pytest.raises(InputError, match=r"^--minutes must be at least [0-9.]+ for this job, .*, got 3$"):
        search.run()
    smallest = "measure_footprint-l1-h3-f384-r64-mi8"
    assert sorted(steps.ran) == sorted(
        ["measure_search_space", "validate-teacher", "measure_footprint-teacher", smallest, "measure_distillation"]
    )
    assert search.runs.spent == 5 * SECONDS


def test_the_version_before_is_no_bar_for_what_a_search_pushes(tmp_path):
    text = "[evaluation]\nmax_regression = 1.0\nmin_score = 50.0\n"
    wiring = wire_students(job(tmp_path, text))
    outputs = wiring.push_winner(WHOLE._replace(layers=2), grid(tmp_path, text), tmp_path, Limits())
    thresholds = outputs.evaluations[""].node.values["thresholds"]
    assert (thresholds.max_regression, thresholds.min_score, thresholds.max_megabytes) == (100.0, 50.0, None)


@pytest.mark.parametrize(
    ("table", "limits"),
    [
        ("", (0.042, None)),
        ("max_megabytes = 0.04", (0.04, None)),
        ("max_megabytes = 1\nmax_download_megabytes = 0.03", (0.042, 0.03)),
    ],
)
def test_the_limit_of_megabytes_counts_for_the_pushed_file_with_its_records(tmp_path, table, limits):
    text = f"[evaluation]\n{table}\n"
    wiring = wire_students(job(tmp_path, text))
    outputs = wiring.push_winner(WHOLE._replace(layers=2), grid(tmp_path, text), tmp_path, Limits(megabytes=0.042))
    thresholds = outputs.evaluations[""].node.values["thresholds"]
    assert (thresholds.max_megabytes, thresholds.max_download_megabytes) == limits


def test_the_limit_of_a_download_counts_for_the_pushed_file(tmp_path):
    limits = Limits(download_megabytes=0.03)
    outputs = wire_students(job(tmp_path)).push_winner(WHOLE._replace(layers=2), grid(tmp_path), tmp_path, limits)
    thresholds = outputs.evaluations[""].node.values["thresholds"]
    assert (thresholds.max_megabytes, thresholds.max_download_megabytes) == (None, 0.03)


def test_its_runs_belong_together_and_the_last_one_completes_them(tmp_path, monkeypatch):
    recorded = []

    def run_pipeline(*_, part_of, is_whole=True, **__):
        recorded.append((part_of, is_whole))
        return RunResult(6 + len(recorded), tmp_path, "done", ())

    monkeypatch.setattr("plugins.search.runs.run_pipeline", run_pipeline)
    settings = load(tmp_path, CHECKPOINT + EXAMPLES + "[student]\nnum_layers = 1\n[quantization]\n")
    one = StudentSearch(settings, Limits(0.0, megabytes=3.0), SearchBudget(600.0, None, 1), tmp_path, Observer())
    nodes = one._wiring.wire_teachers()
    one._run(nodes)
    one._run(nodes)
    one._run(nodes, is_whole=True)
    one.runs.start(pipeline_of(settings.name, nodes))
    assert recorded == [(None, False), (7, False), (7, True), (7, True)], "the push, under the job's name, too"
