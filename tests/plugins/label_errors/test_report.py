"""The section of a report about wrong labels: the rows, escaped, and where the table lies."""

from pipeline.report.figures import FigureCache
from pipeline.report.page import make_page, read_capabilities
from pipeline.report.record import read_record
from tests.pipeline.report.made_up import SCRIPT, Root, node

REPORT = {
    "task": "classification",
    "folds": 4,
    "score": "self_confidence",
    "rows": 1200,
    "errors": 1,
    "pairs": [{"given": "farm", "suggested": "sea", "frequency": 1}],
    "mistakes": {
        "measure": "self_confidence",
        "rows": [{"texts": [f"a gull {SCRIPT}"], "truth": "farm", "answer": "sea", "value": 0.0312, "words": []}],
        "wrong": 1,
        "total": 1200,
    },
}


def make_root(folder, files):
    root = Root(folder)
    root.run(node("find_label_errors", makes={"label_errors": "LabelErrors"}, files={"label_errors": files}))
    return root


def test_the_page_shows_the_rows_to_look_at(tmp_path):
    make_root(tmp_path, {"label_errors.json": REPORT, "label_errors.csv": "text,label"})
    record = read_record(tmp_path)
    (section,) = read_capabilities(record, FigureCache())
    page = make_page(record, FigureCache())
    assert section.folder == "artifacts/find_label_errors/label_errors-1"
    assert "label_errors-1/label_errors.csv" in page.replace("<wbr>", "")
    for text in ("Of 1,200 training rows, 1 have a label", "as 4 models judge", "<b>sea</b>", "<b>farm</b>", "0.0312"):
        assert text in page
    assert 'href="#label-errors"' in page
    assert SCRIPT not in page
    assert "a gull &lt;script&gt;" in page


def test_a_search_that_cannot_be_read_is_left_out(tmp_path):
    make_root(tmp_path, {"label_errors.json": {"rows": 3}})
    record = read_record(tmp_path)
    assert read_capabilities(record, FigureCache()) == []
    assert "label-errors" not in make_page(record, FigureCache())
