"""What `[few_shot]` needs of a job: said in one line before anything trains."""

import json
from pathlib import Path

import pytest

from components.dsl.errors import InputError
from keras_bert.options.fine_tuning import FewShot
from pipeline.job.rules import check_data
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load

JOB = CHECKPOINT + EXAMPLES + "[few_shot]\npairs = 5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bert").mkdir()
    config = {"model_type": "bert", "num_hidden_layers": 2, "max_position_embeddings": 128, "hidden_size": 32}
    (tmp_path / "bert" / "config.json").write_text(json.dumps(config))
    for name in ("model.safetensors", "vocab.txt"):
        (tmp_path / "bert" / name).touch()
    write(tmp_path, ("a", "one"), ("b", "one"), ("c", "two"))
    return tmp_path


def write(folder: Path, *rows: tuple[str, str]) -> None:
    (folder / "rows.tsv").write_text("\n".join(["text\tlabel", *map("\t".join, rows)]) + "\n")


def test_a_job_with_a_label_of_two_rows_passes(folder: Path) -> None:
    settings = load(folder, JOB)
    assert settings.few_shot == FewShot(pairs=5, l2=1.0)
    check_data(settings)
    assert load(folder, CHECKPOINT + EXAMPLES).few_shot is None


def test_rows_of_which_no_two_have_a_label_in_common_are_refused(folder: Path) -> None:
    write(folder, ("a", "one"), ("b", "two"))
    check_data(load(folder, JOB, "few_shot.pairs=0"))
    with pytest.raises(
        InputError,
        match=r"^few_shot needs a label with at least 2 training rows, .*; got one row for each of 2 labels; ",
    ):
        check_data(load(folder, JOB))


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        (
            CHECKPOINT + "[examples]\ntrain = 'rows.tsv'\ntask = 'regression'\n[few_shot]\n",
            [],
            "few_shot must be left out but for classification and multi_label, got it for regression",
        ),
        (
            JOB,
            ["examples.second_text=other"],
            "examples.second_text must be left out where there is a [few_shot], which pairs rows of single texts, "
            "got 'other'",
        ),
        (JOB, ["pooling=cls"], "pooling must be 'mean' where there is a [few_shot], got 'cls'"),
        (
            JOB,
            ["adaptation.kind=lora"],
            "adaptation must be left out where there is a [few_shot], whose head is fitted to the weights of the "
            "encoder itself",
        ),
        (JOB, ["few_shot.pairs=-1"], "few_shot.pairs must be at least 0, got -1"),
        (JOB, ["few_shot.l2=0.0"], "few_shot.l2 must be positive, got 0.0"),
        (JOB, ["few_shot.pears=2"], "there is no setting 'few_shot.pears'; did you mean 'pairs'?"),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, text: str, overrides: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(folder, text, *overrides)
    assert str(caught.value) == message
