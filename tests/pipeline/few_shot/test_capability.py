"""What `[few_shot]` needs of a job: said in one line before anything trains."""

from pathlib import Path

import pytest

from keras_bert.few_shot.options import FewShot
from pipeline.job.checks import check_data
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load, refusal, write_checkpoint

JOB = CHECKPOINT + EXAMPLES + "[few_shot]\npairs = 5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path)
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
    line = refusal(folder, JOB)
    assert line.startswith("few_shot needs a label with at least 2 training rows, ")
    assert "; got one row for each of 2 labels; " in line
