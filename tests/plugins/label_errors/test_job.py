"""The search for wrong labels in a job, through the command line."""

import csv

import pytest

from tests.pipeline.report.html_pages import check_complete
from tests.test_end_to_end import ran, run
from tests.tiny_job import write_job


@pytest.mark.long
def test_wrong_labels_are_found_also_where_the_push_is_refused(tmp_path, capfd):
    folder = tmp_path / "searched"
    folder.mkdir()
    write_job(folder)
    assert run(folder, "--set", "evaluation.min_score=100") == 3
    search = ("--set", "evaluation.min_score=100", "--set", "label_errors.folds=2")
    assert run(folder, *search) == 3
    folds = [f"{step}-{fold}" for step in ("leave_out_fold", "fine_tune-fold") for fold in (0, 1)]
    searched = {"assign_folds", *folds, "score_held_out", "find_label_errors"}
    assert set(ran(folder)) == {"read_examples", *searched, "push"}, "with all columns, but the same rows"
    (table,) = (folder / "root" / "artifacts" / "find_label_errors").glob("*/label_errors.csv")
    rows = list(csv.DictReader(table.open(encoding="utf-8", newline="")))
    wrong = sum(row["likely_wrong"] == "yes" for row in rows)
    assert f"label errors: {wrong} of {len(rows)} training rows are likely wrong: {table}" in capfd.readouterr().out
    source = (folder / "rows.tsv").read_text().splitlines()
    for row in rows:
        assert source[int(row["source"].removeprefix("rows.tsv line ")) - 1] == f"{row['text']}\t{row['label']}"
    # Each twelfth label is wrong.
    texts = {line.split("\t")[0] for number, line in enumerate(source[1:]) if number % 12 == 0}
    assert sum(row["text"] in texts for row in rows[:16]) >= 4
    page = check_complete((folder / "root" / "reports" / "2.html").read_text())
    assert "label-errors" in {attributes["id"] for tag, attributes in page.elements if tag == "section"}
    assert run(folder, *search, "--to", "find_label_errors") == 0
    assert ran(folder) == []
