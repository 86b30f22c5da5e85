"""What `[few_shot]` needs of a job: said in one line before anything trains."""

import pytest

from components.dsl.errors import InputError
from pipeline.chains import wire_fine_tuning
from pipeline.job.checks import check_data
from pipeline.nodes import append_name
from pipeline.orchestrator.graph import Pipeline
from pipeline.pipelines import wire_initial_model, wire_rows
from pipeline.workload import list_trainings
from plugins.few_shot.capability import FewShot
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load, refusal, write_checkpoint
from tests.pipeline.test_pipelines import STUDENT, read_by, reads, values, wire
from tests.pipeline.test_workload import SIZE, load_job

RATES = "[search.fine_tuning]\nlearning_rate = [1e-5, 1e-3]"
JOB = CHECKPOINT + EXAMPLES + "[few_shot]\npairs = 5\n"


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(tmp_path)
    write(tmp_path, ("a", "one"), ("b", "one"), ("c", "two"))
    return tmp_path


def write(folder, *rows):
    (folder / "rows.tsv").write_text("\n".join(["text\tlabel", *map("\t".join, rows)]) + "\n")


def test_a_job_with_a_label_of_two_rows_passes(folder):
    settings = load(folder, JOB)
    assert settings.few_shot == FewShot(pairs=5, l2=1.0)
    check_data(settings)
    assert load(folder, CHECKPOINT + EXAMPLES).few_shot is None


def test_rows_of_which_no_two_have_a_label_in_common_are_refused(folder):
    write(folder, ("a", "one"), ("b", "two"))
    check_data(load(folder, JOB, "few_shot.pairs=0"))
    line = refusal(folder, JOB)
    assert line.startswith("few_shot needs a label with at least 2 training rows, ")
    assert "; got one row for each of 2 labels; " in line


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            "examples.second_text=other",
            "examples.second_text must be left out with [few_shot], which pairs rows of single texts, got 'other'",
        ),
        ("pooling=cls", "pooling must be 'mean' with [few_shot], got 'cls'"),
        (
            "fine_tuning.start_head=random",
            "fine_tuning.start_head must be left out with [few_shot], which always fits the head, got 'random'",
        ),
        (
            "adaptation.kind=lora",
            "adaptation must be left out with [few_shot], whose head is fitted to the weights of the encoder itself",
        ),
        (
            "examples.probabilities=p",
            "examples.probabilities must be left out with [few_shot], whose head is fitted to labels alone",
        ),
        (
            "unlabelled.path=more.csv --set unlabelled.probabilities=p",
            "unlabelled.probabilities must be left out with [few_shot], whose head is fitted to labels alone",
        ),
        ("few_shot.pairs=-1", "few_shot.pairs must be at least 0, got -1"),
        ("few_shot.l2=0.0", "few_shot.l2 must be positive, got 0.0"),
        ("few_shot.l2=inf", "few_shot.l2 must be a finite number, got inf"),
        ("few_shot.pears=2", "there is no setting 'few_shot.pears'; did you mean 'pairs'?"),
        (
            "examples.task=regression",
            "few_shot is only allowed for classification and multi_label, got it for regression",
        ),
    ],
)
def test_refuses_combination(tmp_path, overrides, message):
    assert refusal(tmp_path, JOB, *overrides.split(" --set ")) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RATES, "search.fine_tuning.learning_rate must be left out where few_shot.pairs is 0, as only a head"),
        ("", "--space and [search] must leave a setting with several values to search"),
    ],
)
def test_what_cannot_be_searched_without_pairs(tmp_path, text, message):
    pytest.importorskip("plugins.search")
    from tests.plugins.search.test_space import space_of

    with pytest.raises(InputError) as caught:
        space_of(tmp_path, "[few_shot]\npairs = 0\n" + text)
    assert str(caught.value).startswith(message)


def test_few_rows_teach_the_encoder_by_pairs_before_the_head(tmp_path):
    text = CHECKPOINT + EXAMPLES + STUDENT + "[few_shot]\npairs = 5\n"
    pipeline = wire(tmp_path, text, "seeds=2", "fine_tuning.seed=3", "fine_tuning.class_weights=balanced")
    steps, parameters = reads(pipeline), values(pipeline)
    for seed in "01":
        assert steps[f"pair_examples-{seed}"] == {"import_checkpoint", "ingest_examples"}
        assert steps[f"fine_tune-{seed}"] == {"import_checkpoint", f"pair_examples-{seed}"}
        assert steps[f"fit_head-{seed}"] == {f"fine_tune-{seed}", "ingest_examples"}
        assert steps[f"distill-{seed}"] == {f"fit_head-{seed}", "ingest_examples"}
        assert parameters[f"pair_examples-{seed}"] == {"pairs": 5, "seed": 3 + int(seed)}
        assert parameters[f"fit_head-{seed}"]["class_weights"] == "balanced"
        assert parameters[f"fine_tune-{seed}"]["fine_tuning"].class_weights == "none"
    assert steps["evaluate"] > {"fit_head-0", "fit_head-1"}
    assert not {"fine_tune-0", "pair_examples-0"} & steps["evaluate"]
    assert read_by(tmp_path, text, "few_shot.l2=10.0") == {"fit_head"}
    assert read_by(tmp_path, text, "few_shot.pairs=6") == {"pair_examples"}
    without = reads(wire(tmp_path, text, "few_shot.pairs=0"))
    assert without["fit_head"] == {"import_checkpoint", "ingest_examples"}
    assert not {"pair_examples", "fine_tune"} & without.keys()
    settings = load(tmp_path, text)
    # As one of several tasks.
    start, rows = wire_rows(settings, wire_initial_model(settings), "a")
    head = append_name(wire_fine_tuning(settings, start, rows, 0, "a"), "a")
    compared = reads(Pipeline("a", [head]))
    assert compared["fit_head-a"] == {"fine_tune-a", "ingest_examples-a"}
    assert compared["fine_tune-a"] == {"import_checkpoint", "pair_examples-a"}


def test_the_model_of_each_fold_learns_from_pairs_too(tmp_path):
    pytest.importorskip("plugins.label_errors")
    searched = reads(wire(tmp_path, JOB, "label_errors.folds=2"))
    for fold in "01":
        assert searched[f"pair_examples-fold-{fold}"] == {"import_checkpoint", f"leave_out_fold-{fold}"}
        assert searched[f"fit_head-fold-{fold}"] == {f"fine_tune-fold-{fold}", f"leave_out_fold-{fold}"}


@pytest.mark.parametrize(("pairs", "texts"), [(5, [2 * 2 * 2 * 5 * 60]), (0, [0])])
def test_pairs_of_few_rows_are_two_texts(tmp_path, pairs, texts):
    works = list_trainings(load_job(tmp_path, few_shot={"pairs": pairs}))
    assert works is not None
    assert [work.rows for work in works if work.encoder == SIZE] == texts
    assert [work.rows for work in works if work.encoder != SIZE] == [70]
