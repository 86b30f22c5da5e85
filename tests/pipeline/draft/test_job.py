"""A job that `init` wrote runs from its rows to a pushed model, with their schema."""

from collections import Counter

import pytest

from components.examples.registry import TASK_ROWS
from components.examples.row_traits import TokenTraits, measure_rows
from components.sources.tagged_words import Sentence
from pipeline.cli import main
from pipeline.draft.job import describe_rows, name_job
from tests.components.tuning_job import write_checkpoint
from tests.pipeline.draft.tiny_rows import write_reviews


def test_long_answers_of_a_conflict_are_shown_where_they_are_different():
    words = tuple(f"w{number}" for number in range(60))
    tags = [("O",) * 50 + (tag,) + ("O",) * 9 for tag in ("B-cow", "O", "B-hen")]
    rows = [Sentence(words, row) for row in tags]
    (line,) = (
        line
        for line in describe_rows(
            measure_rows(rows, TASK_ROWS["token_classification"]), TokenTraits([62], [60], 0.0, Counter())
        )
        if line.startswith("conflicts")
    )
    before, after = "O " * 14, " O" * 9
    assert line.endswith(f": '...{before}B-cow{after}' and '...{before}O{after}' and 1 more")


def run_written_job(folder, count, *settings):
    """A job that `init` wrote for so many reviews runs to its end; gives the root."""
    write_checkpoint(folder)
    rows, job, root = write_reviews(folder, count), folder / "job.toml", folder / "root"
    assert main(["init", str(rows), "--checkpoint", str(folder / "model"), "--out", str(job)]) == 0
    tiny = ("fine_tuning.learning_rate=1e-2", "fine_tuning.xla=off", "evaluation.max_export_loss=100")
    overrides = [f"--set={setting}" for setting in (*tiny, "evaluation.below_baseline=warn", *settings)]
    assert main(["run", str(job), "--root", str(root), *overrides]) == 0
    assert (root / "pushed" / "reviews" / "1" / "model.tflite").is_file()
    return root


@pytest.mark.long
def test_a_written_job_runs_to_the_end(tmp_path):
    run_written_job(tmp_path, 400, "quantization.xla=off")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/reviews.csv", "reviews"),
        ("/sst2/train.tsv.gz", "sst2"),
        ("s3://bucket/a b.csv", "a_b"),
        ("/é.csv", "model"),
    ],
)
def test_names_of_jobs(path, name):
    assert name_job(path) == name
