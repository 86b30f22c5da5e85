"""The columns of a table as `init` sees them: a sample of all rows, wherever they stand."""

import pytest

from pipeline.draft import columns
from pipeline.draft.source import DraftRequest, guess_source
from tests.pipeline.draft.tiny_rows import make_texts


def write_sorted(folder, labels, name="rows.csv"):
    """A table that is sorted by its labels, as exports of databases are."""
    rows = (
        f"{row},{text},{label}\n"
        for row, (text, label) in enumerate(zip(make_texts(len(labels)), sorted(labels), strict=True))
    )
    (folder / name).write_text("id,review,label\n" + "".join(rows))
    return folder / name


def draft_request(rows):
    return DraftRequest(str(rows))


@pytest.fixture
def _small_sample(monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 30)


@pytest.mark.usefixtures("_small_sample")
@pytest.mark.parametrize(("labels", "task"), [(["a", "b"], "classification"), ([*map(str, range(30))], "regression")])
def test_labels_of_a_sorted_table(tmp_path, labels, task):
    table = write_sorted(tmp_path, labels * (240 // len(labels)))
    sample = {column.name: column for column in columns.read_sample([str(table)])}
    assert 20 < len(sample["label"].values) < 60
    assert sample["id"].counts_rows
    assert not sample["label"].counts_rows
    source = guess_source(draft_request(table)).source
    assert (source.task, source.text, source.label) == (task, "review", "label")


@pytest.mark.usefixtures("_small_sample")
def test_labels_that_alternate(tmp_path):
    rows = (f"{text},{'ab'[row % 2]}" for row, text in enumerate(make_texts(240)))
    (tmp_path / "rows.csv").write_text("\n".join(["review,label", *rows]))
    guess = guess_source(draft_request(tmp_path / "rows.csv"))
    assert "label: column 'label', 2 different values" in guess.reasons


def test_labels_of_files_that_have_one_each(tmp_path):
    for name in "ab":
        write_sorted(tmp_path, [name] * 8, f"{name}.csv")
    guess = guess_source(draft_request(tmp_path))
    assert guess.source.label == "label"
    assert "label: column 'label', 2 different values" in guess.reasons


def test_labels_are_counted_without_white_space():
    assert columns.TableColumn("label", ["a", " a", "b "]).count_distinct() == 2
