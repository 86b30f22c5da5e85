"""A job that `init` wrote runs from its rows to a pushed model, with their schema; the estimate follows the work."""

from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.draft import duration
from pipeline.draft.duration import EncoderSize, Workload, estimate_seconds
from pipeline.draft.job import name_job
from tests.components.tuning_job import write_checkpoint
from tests.pipeline.draft.tiny_rows import write_reviews


@pytest.mark.long
def test_a_written_job_runs_to_the_end(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    rows, job, root = write_reviews(tmp_path, 400), tmp_path / "job.toml", tmp_path / "root"
    checkpoint = ["--checkpoint", str(tmp_path / "model")]
    assert main(["init", str(rows), *checkpoint, "--out", str(job)]) == 0
    tiny = (
        "fine_tuning.learning_rate=1e-2",
        "fine_tuning.xla=off",
        "quantization.xla=off",
        "evaluation.max_export_loss=100",
    )
    overrides = [part for setting in tiny for part in ("--set", setting)]
    assert main(["run", str(job), "--root", str(root), *overrides]) == 0
    pushed = root / "pushed" / "reviews" / "1"
    assert (pushed / "model.tflite").is_file()
    assert main(["inspect", str(rows), "--against", str(pushed)]) == 0
    rows.write_text(rows.read_text().replace("cow", "gnu"))
    assert main(["inspect", str(rows), "--against", str(pushed)]) == 3


def test_flops_of_a_forward_pass_equal_those_of_its_products() -> None:
    tokens, width, inner = 8, 4, 16
    kernels = 2 * tokens * (4 * width * width + 2 * width * inner)
    scores_and_values = 2 * 2 * tokens * tokens * width
    assert EncoderSize(3, width, inner).flops(tokens) == 3 * (kernels + scores_and_values)


def test_the_estimate_grows_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duration, "measure_speed", lambda: 1e9)
    size = EncoderSize(6, 384, 1536)
    alone = Workload(32.0, size, None, 1000.0, 0.0, 0.0)
    fixed = estimate_seconds(alone._replace(fine_tuning=0.0))
    once, twice = (estimate_seconds(alone._replace(fine_tuning=rows)) - fixed for rows in (1000.0, 2000.0))
    assert twice == pytest.approx(2 * once)
    with_student = alone._replace(student=size._replace(layers=3), distillation=1000.0)
    # A step of the student costs half of the teacher's, beside the teacher's forward pass.
    assert estimate_seconds(with_student) - fixed == pytest.approx(once * (1 + 1 / 2 + 1 / 3))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/reviews.csv", "reviews"),
        ("/sst2/train.tsv.gz", "sst2"),
        ("s3://bucket/a b.csv", "a_b"),
        ("/é.csv", "model"),
    ],
)
def test_names_of_jobs(path: str, name: str) -> None:
    assert name_job(path) == name
