"""The section about reasons on the page of a run."""

from pathlib import Path

from pipeline.report.files import write_page
from tests.pipeline.report.html_pages import check_complete
from tests.pipeline.report.made_up import Root, node
from tests.pipeline.views.test_agreement import DIFFERENT, REPORT


def test_reasons_are_a_section(tmp_path: Path) -> None:
    files = {"explanation": {"explanation.json": REPORT.as_json()}}
    Root(tmp_path).run(node("explain_models", makes={"explanation": "Explanation"}, files=files))
    page = check_complete(write_page(tmp_path).read_text())
    for text in (
        "Do the small models decide for their teacher's reasons?",
        "97.5",
        "3 broad, 1 itself",
        "student: sea",
    ):
        assert text in page.text
    assert page.text.count(str(DIFFERENT["words"][1])) == 2, "once for each model"


def test_a_damaged_explanation_is_left_out(tmp_path: Path) -> None:
    files = {"explanation": {"explanation.json": {"rows": 3}}}
    Root(tmp_path).run(node("explain_models", makes={"explanation": "Explanation"}, files=files))
    assert "Do the small models" not in check_complete(write_page(tmp_path).read_text()).text
