"""The wiring of the search for wrong labels."""

import pytest

from components.dsl.errors import InputError
from components.sources.shared import KeptColumns
from pipeline.job.checks import check_data
from pipeline.workload import list_trainings
from plugins.label_errors.search import LabelErrorSearch
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, QUERIES, load
from tests.pipeline.test_pipelines import reads, values, wire
from tests.pipeline.test_workload import load_job

SEARCH = "[label_errors]\nfolds = 3\nseed = 7\n"


def test_a_model_for_each_fold_judges_the_rows_it_has_not_seen(tmp_path):
    pipeline = wire(tmp_path, CHECKPOINT + EXAMPLES + SEARCH, "seeds=2", "examples.near_overlap=off")
    steps, settings = reads(pipeline), values(pipeline)
    assert steps["assign_folds"] == {"ingest_examples"}
    for fold in range(3):
        assert steps[f"leave_out_fold-{fold}"] == {"ingest_examples", "assign_folds"}
        assert steps[f"fine_tune-fold-{fold}"] == {"import_checkpoint", f"leave_out_fold-{fold}"}
        assert settings[f"leave_out_fold-{fold}"] == {"fold": fold}
        assert settings[f"fine_tune-fold-{fold}"] == settings["fine_tune-0"]
    models = {f"fine_tune-fold-{fold}" for fold in range(3)}
    assert steps["score_held_out"] == {*models, "ingest_examples", "assign_folds"}
    assert steps["find_label_errors"] == {"read_examples", "score_held_out"}
    assert settings["read_examples"]["kept"] == KeptColumns(all_of_train=True)
    assert settings["assign_folds"] == {"count": 3, "seed": 7, "near": False}
    assert settings["find_label_errors"]["search"] == LabelErrorSearch(folds=3, seed=7)


def test_without_the_table_there_are_no_such_steps(tmp_path):
    steps = reads(wire(tmp_path, CHECKPOINT + EXAMPLES))
    assert not any("fold" in name or "label_errors" in name for name in steps)


def test_rows_in_a_reduced_vocabulary_are_those_of_the_teacher(tmp_path):
    steps = reads(wire(tmp_path, CHECKPOINT + EXAMPLES + SEARCH + "[fitted_vocabulary]\nsize = 500\n"))
    assert steps["fine_tune-fold-0"] == {"fit_vocabulary", "leave_out_fold-0"}
    assert steps["assign_folds"] == {"ingest_examples"}


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        (EXAMPLES + "task = 'regression'\n", "for the task 'regression', which has no labels"),
        (EXAMPLES + "task = 'embedding'\nsecond_text = 'other'\n", "for the task 'embedding', which has no labels"),
        (EXAMPLES + "task = 'question_answering'\n", "for the task 'question_answering', which has no labels"),
        (QUERIES, "for the task 'retrieval', which has no labels"),
        ("[examples]\nrows = 300\n", "for the built-in examples, whose labels are right"),
        (
            EXAMPLES + "[unlabelled]\npath = 'more.jsonl'\nprobabilities = 'p'\n",
            "beside unlabelled.probabilities, whose rows have no labels to correct",
        ),
        ("[corpus]\npath = 'texts'\n", r"without \[examples\], as no step would read it"),
    ],
)
def test_jobs_without_labels_to_judge_are_refused(tmp_path, examples, message):
    with pytest.raises(InputError, match=f"label_errors must be left out {message}"):
        load(tmp_path, CHECKPOINT + examples + SEARCH)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("label_errors.folds=1", "label_errors.folds must be at least 2, got 1"),
        ("label_errors.folds=101", "label_errors.folds must be at most 100, got 101"),
        ("label_errors.seed=-1", "label_errors.seed must be at least 0, got -1"),
        ("label_errors.score=entropy", "label_errors.score must be 'self_confidence' or 'normalized_margin'"),
        ("label_errors.fold=3", "there is no setting 'label_errors.fold'; did you mean 'folds'"),
    ],
)
def test_values_that_break_a_rule_are_refused(tmp_path, override, message):
    with pytest.raises(InputError) as error:
        load(tmp_path, CHECKPOINT + EXAMPLES + SEARCH, override)
    assert str(error.value).startswith(message)


def test_labels_with_too_few_rows_are_refused_before_training(tmp_path):
    rows = [*(("one", f"a text {number}") for number in range(6)), ("two", "another"), ("two", "a third")]
    (tmp_path / "rows.tsv").write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in rows))
    (tmp_path / "test.tsv").write_text("label\ttext\none\tof one\ntwo\tof two\n")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("A text.")
    test = f"examples.test={tmp_path / 'test.tsv'}"
    with pytest.raises(InputError, match=r"got 3 beside 2 of 'two'; lower folds to 2, add rows of that label"):
        check_data(load(tmp_path, CORPUS + EXAMPLES + SEARCH, test))
    check_data(load(tmp_path, CORPUS + EXAMPLES + SEARCH, test, "label_errors.folds=2"))


def test_a_search_for_wrong_labels_trains_on_each_row_once_less_than_it_has_folds(tmp_path):
    works = list_trainings(load_job(tmp_path, label_errors={"folds": 4}))
    assert works[-1] == works[0]._replace(rows=3 * works[0].rows)
