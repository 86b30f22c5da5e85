"""The section about reasons on the page of a run."""

from components.dsl.artifact import as_plain
from pipeline.report.page import write_page
from tests.pipeline.report.html_pages import check_complete
from tests.pipeline.report.made_up import Root, node
from tests.plugins.explain.test_tables import DIFFERENT, REPORT


def test_reasons_are_a_section(tmp_path):
    files = {"explanation": {"explanation.json": as_plain(REPORT)}}
    Root(tmp_path).run(node("explain_models", makes={"explanation": "Explanation"}, files=files))
    page_source = write_page(tmp_path).read_text()
    page = check_complete(page_source)
    for text in (
        "Do the small models decide for their teacher's reasons?",
        "97.5",
        "3 broad, 1 itself",
        "student: sea",
        "1.0 +0.500, 0.0 +0.250, 1.1 +0.000",
        "linear probes of 3 tags",
    ):
        assert text in page.text
    assert "attention heads of teacher in the plane" in page_source
    assert page.text.count(str(DIFFERENT["words"][1])) == 2, "once for each model"


def test_a_damaged_explanation_is_left_out(tmp_path):
    files = {"explanation": {"explanation.json": {"rows": 3}}}
    Root(tmp_path).run(node("explain_models", makes={"explanation": "Explanation"}, files=files))
    assert "Do the small models" not in check_complete(write_page(tmp_path).read_text()).text
