"""Searches of made-up trainings: what they try, choose and keep, and what a stop costs; needs Optuna."""

import json

import pytest

from components.dsl.artifact import as_plain
from components.dsl.errors import InputError
from pipeline.job.files import read_tables
from pipeline.orchestrator.observer import Observer
from plugins.search.budget import SearchBudget, StageCosts
from plugins.search.settings_search import SettingsSearch
from plugins.search.study import STARTUP_TRIALS
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, write_checkpoint
from tests.plugins.search.made_up import DIVERGED, SECONDS, VALIDATIONS, MadeUpRuns, peak

pytestmark = pytest.mark.search

JOB = "task = 'token_classification'\n[fine_tuning]\nlearning_rate = 5e-5\nprecision = 'float32'\n"
STUDENT = "[student]\nnum_layers = 2\n[distillation]\nprecision = 'float32'\n"
RATE = "fine_tuning.learning_rate"


class Diary(Observer):
    """Remembers messages."""

    def __init__(self):
        self.messages = []

    def say(self, text):
        self.messages.append(text)


class Searches:
    """Searches in one root, one after the other.

    Args:
        folder: an empty folder.
        monkeypatch: puts made-up runs instead of real ones.
    """

    def __init__(self, folder, monkeypatch):
        self.root, self._patch, self._folder = folder / "root", monkeypatch, folder
        monkeypatch.setattr("plugins.search.trial._LOOK_SECONDS", 0.0)
        self.diary, self.runs = Diary(), MadeUpRuns(self.root)

    def tune(
        self,
        text=JOB,
        *names,
        minutes=20.0,
        trials=8,
        seeds=2,
        sampler="tpe",
        score=peak,
        start=CORPUS + EXAMPLES,
        **options,
    ):
        """The content of `search.json`."""
        self.diary, self.runs = Diary(), MadeUpRuns(self.root, score, **options)
        self._patch.setattr("plugins.search.runs.run_pipeline", self.runs.run_pipeline)
        self._patch.setattr("plugins.search.settings_search.open_store", self.runs.open_store)
        (self._folder / "job.toml").write_text(start + text)
        tables, budget = read_tables(self._folder / "job.toml"), SearchBudget.of(minutes, trials, seeds)
        search = SettingsSearch(tables, names, budget, sampler, self.root, self.diary)
        return as_plain(vars(search.run()))


@pytest.fixture
def searches(tmp_path, monkeypatch):
    return Searches(tmp_path, monkeypatch)


def test_the_best_settings_win_over_all_seeds(searches):
    content = searches.tune(trials=12)
    teacher = content["stages"]["teacher"]
    finalists = teacher["finalists"]
    means = {name: finalist["score"]["mean"] for name, finalist in finalists.items()}
    assert len(finalists) == 4
    assert teacher["winner"]["name"] == max(means, key=lambda name: means[name]) != "job"
    job_score = 0.9 - 0.2 * 0.30103 + 0.03 - 0.0032
    assert means["job"] == pytest.approx(job_score + 0.0005, abs=1e-5), "the mean of both seeds"
    assert abs(finalists[teacher["winner"]["name"]]["values"][RATE] / 1e-4 - 1) < 0.5
    assert content["values"] == {
        name: value for name, value in teacher["winner"]["values"].items() if value != teacher["settings"][name]["job"]
    }
    assert (content["metric"], content["rows"], content["seeds"]) == ("accuracy", 100, 2)
    assert json.loads(json.dumps(content)) == content


TASKS = "[tasks.mood.examples]\ntrain = 'moods.tsv'\n[tasks.names.examples]\ntrain = 'names.conll'\n"
TASKS += "task = 'token_classification'\n[quantization]\n[fine_tuning]\nlearning_rate = 5e-5\n"


def test_the_trainings_of_several_tasks_are_searched_with_all_seeds(searches, tmp_path):
    pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")
    write_checkpoint(tmp_path)
    content = searches.tune(TASKS + STUDENT, RATE, "distillation.learning_rate", start=CHECKPOINT, minutes=60.0)
    assert [*content["stages"]] == ["teacher", "student"]
    assert content["stages"]["student"]["later"] == ["quantization"]
    rates = [rate for name, rate, seed in searches.runs.trained if name == "fine_tune_together" and seed == 1]
    finalists = content["stages"]["teacher"]["finalists"]
    assert {*rates} == {finalist["values"][RATE] for finalist in finalists.values()}
    assert {name for name, *_ in searches.runs.trained} == {"fine_tune_together", "distill_together"}
    assert content["values"][RATE] in rates


SINGLE = STUDENT + "[sharing]\nteachers = 'single'\n"


def test_teachers_of_single_tasks_that_are_not_searched_are_made_before_the_search(searches, tmp_path):
    pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")
    write_checkpoint(tmp_path)
    content = searches.tune(TASKS + SINGLE, "distillation.learning_rate", start=CHECKPOINT, trials=2)
    names = [name for name, *_ in searches.runs.trained]
    assert sorted(names[:6]) == 4 * ["fine_tune"] + 2 * ["fine_tune_together"], "of both seeds"
    assert {*names[6:]} == {"distill_together"}
    stage = content["stages"]["student"]
    whole = 1 + len(stage["trials"]) + len(stage["finalists"])
    # A training and its score; of the finalists' both seeds the quantization and its score as well.
    assert content["seconds"] == 2 * SECONDS * (whole + 2 * len(stage["finalists"]))


def test_teachers_of_single_tasks_are_part_of_the_plan_of_their_student(searches, tmp_path, monkeypatch):
    pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")
    write_checkpoint(tmp_path)
    planned = []
    monkeypatch.setattr("plugins.search.settings_search.check_stage", lambda costs, *_: planned.append(costs))
    searches.tune(TASKS + SINGLE, RATE, "distillation.learning_rate", start=CHECKPOINT, trials=1, minutes=60.0)
    assert planned == [
        StageCosts(2 * SECONDS, later=0.0),
        StageCosts(2 * SECONDS, later=2 * SECONDS, singles=2 * SECONDS),
    ]


def test_the_rows_that_choose_are_not_the_test_rows_of_any_task(searches, tmp_path):
    pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")
    write_checkpoint(tmp_path)
    start = CHECKPOINT + "[tasks.mood.examples]\nvalidation = 'a.tsv'\ntest = 'a.tsv'\ntrain = 'moods.tsv'\n"
    with pytest.raises(InputError, match=r"^tasks\.mood\.examples\.validation must not be the test rows"):
        searches.tune("", start=start)


def test_no_training_begins_twice_and_the_start_does_not_count(searches):
    content = searches.tune()
    teacher = content["stages"]["teacher"]
    whole = [trial for trial in teacher["trials"] if trial["state"] == "done"]
    assert all(trial["seconds"] == 2 * SECONDS for trial in whole), "a training and its score"
    repeated = len(teacher["finalists"])
    stopped = sum(trial["seconds"] for trial in teacher["trials"] if trial["state"] != "done")
    assert content["seconds"] == pytest.approx(2 * SECONDS * (1 + len(whole) + repeated) + stopped)
    first, *others, last = searches.runs.recorded
    assert (first, {*others}, last) == ((None, False), {(1, False)}, (1, True)), "parts of the first, and completed"


def test_each_run_is_recorded_with_the_settings_of_its_training(searches):
    searches.tune(seeds=1)
    rates = [settings["fine_tuning"]["learning_rate"] for settings in searches.runs.settings]
    assert {rate for _, rate, _ in searches.runs.trained} == {*rates}
    assert len({*rates}) == 9, "the job's, and those of eight trials"


@pytest.mark.parametrize("stop_at", [1, 2, 4, 10, 12])
def test_a_search_that_was_stopped_ends_as_one_that_was_not(tmp_path, monkeypatch, stop_at):
    def without_times(content):
        for trial in content["stages"]["teacher"]["trials"]:
            trial.pop("seconds")
        return json.dumps({**content, "seconds": 0.0})

    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = without_times(Searches(tmp_path / "whole", monkeypatch).tune())
    parts = Searches(tmp_path / "parts", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        parts.tune(stop_at=stop_at)
    assert without_times(parts.tune()) == whole
    assert without_times(parts.tune()) == whole
    assert parts.runs.trained == [], "a third one trains nothing"


def test_more_time_and_trials_go_on_with_those_that_are_there(searches):
    few = searches.tune(trials=4)["stages"]["teacher"]["trials"]
    more = searches.tune(trials=7)["stages"]["teacher"]["trials"]
    assert (len(few), len(more)) == (4, 7)
    assert more[:4] == few


def test_bad_trainings_are_pruned_in_the_middle(searches):
    content = searches.tune(trials=16)
    trials = content["stages"]["teacher"]["trials"]
    pruned = [trial for trial in trials if trial["state"] == "pruned"]
    assert pruned
    assert all(trial["number"] >= STARTUP_TRIALS for trial in pruned)
    assert all(trial["score"] is None and 0 < len(trial["validations"]) <= 2 for trial in pruned)
    best = max(trial["score"] for trial in trials if trial["score"] is not None)
    assert all(trial["validations"][0] < best for trial in pruned)
    assert "below the median of earlier trials" in "\n".join(searches.diary.messages)
    names = {finalist for finalist in content["stages"]["teacher"]["finalists"] if finalist != "job"}
    assert not names & {str(trial["number"]) for trial in pruned}


def test_trainings_on_pairs_are_pruned_by_their_own_validations(searches):
    pytest.importorskip("plugins.few_shot")
    few_shot = "[few_shot]\npairs = 4\n[fine_tuning]\nlearning_rate = 5e-5\nprecision = 'float32'\n"
    content = searches.tune(few_shot, RATE, trials=STARTUP_TRIALS + 1)
    trials = content["stages"]["teacher"]["trials"]
    done = [trial for trial in trials if trial["state"] == "done"]
    assert len(done) >= STARTUP_TRIALS - 1, "the job's own settings count as one"
    assert all(len(trial["validations"]) == VALIDATIONS for trial in done), "those of the head are none"


def test_a_random_search_prunes_nothing_and_stands_beside(searches):
    searches.tune(trials=4)
    content = searches.tune(trials=16, sampler="random")
    assert {trial["state"] for trial in content["stages"]["teacher"]["trials"]} == {"done"}
    assert sorted(folder.name for folder in (searches.root / "searched").iterdir()) == ["model", "model-random"]


def test_values_that_diverge_are_rejected_and_never_win(searches):
    def score(node, training):
        if training.learning_rate > 1e-4:
            raise ArithmeticError
        return peak(node, training)

    content = searches.tune(trials=10, score=score)
    trials = content["stages"]["teacher"]["trials"]
    rejected = [trial for trial in trials if trial["state"] == "rejected"]
    assert rejected
    assert all(trial["values"][RATE] > 1e-4 and "diverged" in trial["reason"] for trial in rejected)
    assert content["stages"]["teacher"]["winner"]["values"][RATE] <= 1e-4


def test_values_that_a_training_refuses_are_rejected_whatever_runs_other_machines_start(searches):
    def refuse(node, training):
        if training.learning_rate > 1e-4:
            raise InputError("fine_tuning.learning_rate must be lower")
        return peak(node, training)

    trials = searches.tune(score=refuse, minutes=60.0, trials=12)["stages"]["teacher"]["trials"]
    rejected = [trial for trial in trials if trial["state"] == "rejected"]
    assert rejected
    assert {trial["reason"] for trial in rejected} == {"fine_tuning.learning_rate must be lower"}


def test_settings_that_diverge_with_another_seed_are_no_finalists(searches):
    def score(node, training):
        if training.seed == 1 and training.learning_rate != 5e-5:
            raise ArithmeticError
        return peak(node, training)

    content = searches.tune(trials=3, score=score)
    assert content["stages"]["teacher"]["finalists"].keys() == {"job"}
    assert content["values"] == {}


def test_the_own_settings_of_a_job_that_diverge_are_an_error(searches):
    def score(node, training):
        raise ArithmeticError

    with pytest.raises(Exception, match=DIVERGED.format("fine_tune").split("\n")[0]):
        searches.tune(score=score)


def test_equal_settings_leave_the_job_as_it_is(searches):
    content = searches.tune(trials=3, score=lambda node, training: 0.5)
    assert content["stages"]["teacher"]["winner"]["name"] == "job"
    assert content["values"] == {}


def test_another_job_space_data_or_sampler_begins_another_study(searches):
    first = searches.tune(trials=2)
    for text, names, version in (
        (JOB + "epochs = 2.0\n", (), ""),
        (JOB, (RATE,), ""),
        (JOB + "[search.fine_tuning]\nlearning_rate = [1e-5, 1e-3]\n", (), ""),
        (JOB, (), "other data"),
    ):
        searches.tune(text, *names, trials=1, version=version)
        assert len(searches.runs.trained) >= 2, "its trials are new"
    # What no training reads changes nothing.
    again = searches.tune(JOB + "[export]\nlengths = [16]\n[evaluation]\nmin_score = 50.0\n", trials=2)
    assert searches.runs.trained == []
    assert again["stages"] == first["stages"]


def test_a_small_space_ends_when_all_of_it_was_tried(searches):
    text = JOB + "[search.fine_tuning]\nbatch_size = [16, 32, 64]\n"
    content = searches.tune(text, "fine_tuning.batch_size", trials=50)
    sizes = [trial["values"]["fine_tuning.batch_size"] for trial in content["stages"]["teacher"]["trials"]]
    assert sorted(sizes) == [16, 64], "32 is the job's own"
    assert "hardly any values are left" in "\n".join(searches.diary.messages)


def test_the_job_may_lie_outside_of_its_own_space(searches):
    text = JOB + "[search.fine_tuning]\nlearning_rate = [8e-5, 2e-4]\n"
    content = searches.tune(text, RATE, trials=6)
    assert content["stages"]["teacher"]["winner"]["name"] != "job"
    assert all(8e-5 <= trial["values"][RATE] <= 2e-4 for trial in content["stages"]["teacher"]["trials"])


def test_the_time_ends_the_search_and_keeps_some_for_the_seeds(searches):
    content = searches.tune(minutes=6.0, trials=None)
    assert 180 < content["seconds"] <= 360
    assert len(content["stages"]["teacher"]["finalists"]) == 4


def test_a_time_that_is_too_short_is_refused_after_the_own_settings(searches):
    with pytest.raises(InputError, match=r"^--minutes must be at least 1.4 for this job, .*, got 1;"):
        searches.tune(minutes=1.0, trials=None)
    assert len(searches.runs.trained) == 1


def test_the_student_is_searched_after_the_teacher_and_learns_from_the_best_one(searches):
    content = searches.tune(JOB + STUDENT, trials=5, minutes=60.0)
    assert [*content["stages"]] == ["teacher", "student"]
    teacher, student = content["stages"].values()
    rate = teacher["winner"]["values"][RATE]
    kinds = [name for name, _, _ in searches.runs.trained]
    first = kinds.index("distill")
    assert "fine_tune" not in kinds[first:], "the teachers of all seeds are those of the finalists before"
    assert {RATE, "distillation.learning_rate"} & content["values"].keys()
    assert teacher["later"] == student["later"] == []
    assert student["settings"]["student.num_layers"]["job"] == 2
    assert rate == teacher["finalists"][teacher["winner"]["name"]]["values"][RATE]


def test_the_student_alone_learns_from_the_teacher_of_the_job_whose_time_does_not_count(searches):
    content = searches.tune(JOB + STUDENT, "distillation.learning_rate", trials=3)
    teachers = [entry for entry in searches.runs.trained if entry[0] == "fine_tune"]
    assert teachers == [("fine_tune", 5e-5, 0), ("fine_tune", 5e-5, 1)]
    whole = 1 + len(content["stages"]["student"]["trials"]) + len(content["stages"]["student"]["finalists"])
    assert content["seconds"] == pytest.approx(2 * SECONDS * whole)


def test_the_best_few_are_scored_as_they_are_shipped(searches):
    text = JOB + "[quantization]\npost_training = true\n"
    content = searches.tune(text, trials=2)["stages"]["teacher"]
    assert content["later"] == ["quantization"]
    name, finalist = next((name, one) for name, one in content["finalists"].items() if name != "job")
    (trial,) = (trial for trial in content["trials"] if str(trial["number"]) == name)
    assert finalist["score"]["seeds"][0] == pytest.approx(trial["score"] - 0.01)


def test_two_searches_of_a_job_do_not_run_at_once(searches):
    searches.tune(trials=1)
    with (searches.root / "searched" / "model" / "lock").open("a+") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match=r"^--root must have no other search for 'model', got .*: search, process"):
            searches.tune(trials=2)
    assert len(searches.tune(trials=2)["stages"]["teacher"]["trials"]) == 2


def test_shares_of_variance_need_many_trials(searches):
    few = searches.tune(trials=8, sampler="random")["stages"]["teacher"]["settings"]
    assert {setting["importance"] for setting in few.values()} == {None}
    many = searches.tune(trials=30, minutes=60.0, sampler="random")["stages"]["teacher"]["settings"]
    shares = {name: setting["importance"] for name, setting in many.items()}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(shares, key=lambda name: shares[name]) == RATE
