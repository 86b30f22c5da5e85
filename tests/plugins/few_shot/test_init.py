"""`init` proposes `[few_shot]` for few rows of each label."""

import pytest

from pipeline.cli import main
from pipeline.job.files import load_settings
from plugins.few_shot.capability import FewShot
from tests.pipeline.command_line import said
from tests.pipeline.draft.test_job import run_written_job
from tests.pipeline.draft.tiny_rows import make_texts, write_checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    return str(write_checkpoint(tmp_path / "checkpoint"))


@pytest.mark.parametrize(("count", "few"), [(16, True), (17, False)])
def test_few_rows_of_a_label_are_learnt_by_pairs(tmp_path, checkpoint, capfd, count, few):
    rows, job = tmp_path / "rows.csv", tmp_path / "job.toml"
    lines = [f"{text},{'one' if place % 2 else 'two'}" for place, text in enumerate(make_texts(2 * count))]
    rows.write_text("\n".join(["text,label", *lines]) + "\n")
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]) == 0
    settings = load_settings(job)
    if not few:
        assert (settings.few_shot, settings.fine_tuning.epochs) == (None, 10.0)
        return
    assert settings.few_shot.pairs == 20
    assert (settings.fine_tuning.epochs, settings.student) == (1.0, None)
    assert settings.quantization.post_training
    assert "pairs = 20  # few rows a label (16 on average) teach by pairs, here 1280, before a head" in job.read_text()
    printed = said(capfd, "run", job, "--dry-run", "--root", tmp_path / "root")
    assert "pair_examples" in printed
    assert "fit_head" in printed


def test_few_rows_of_many_labels_fit_a_head_alone(tmp_path, checkpoint):
    rows, job = tmp_path / "rows.csv", tmp_path / "job.toml"
    lines = [f"{text},label {place % 50}" for place, text in enumerate(make_texts(800))]
    rows.write_text("\n".join(["text,label", *lines]) + "\n")
    assert main(["init", str(rows), "--checkpoint", checkpoint, "--out", str(job)]) == 0
    assert load_settings(job).few_shot == FewShot(pairs=0)
    assert "pairs = 0  # few rows a label (16 on average), but many in all: only a head is fitted" in job.read_text()
    assert "[fine_tuning]" not in job.read_text()


@pytest.mark.long
def test_a_job_of_few_rows_runs_to_the_end(tmp_path):
    root = run_written_job(tmp_path, 30)
    assert {"pair_examples", "fine_tune", "fit_head"} <= {folder.name for folder in (root / "artifacts").iterdir()}
    assert "pair_examples" in (root / "reports" / "1.html").read_text()
