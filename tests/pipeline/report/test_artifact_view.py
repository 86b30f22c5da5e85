import html
import json
from html.parser import HTMLParser

import pytest

from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.dsl.errors import InputError
from pipeline.report.artifact_view import read_facts, show
from tests.pipeline.orchestrator.toy import Text
from tests.pipeline.provenance.made_up import Jobs


@pytest.fixture
def root(tmp_path):
    Jobs(tmp_path).run("a")
    return tmp_path


def test_an_artifact_is_a_frame_with_a_complete_page(root):
    shown = show(Text(root / "artifacts" / "model" / "out-a"), height=300)
    frame = shown._repr_html_()
    assert frame.startswith('<iframe sandbox srcdoc="&lt;!doctype html&gt;')
    assert 'style="width: 100%; height: 300px; border: 0"' in frame
    assert html.unescape(frame.partition('srcdoc="')[2].partition('" style')[0]) == shown.page
    sources = []

    class Addresses(HTMLParser):
        def handle_starttag(self, tag, attrs):
            sources.extend((name, value) for name, value in attrs if name in ("src", "href"))

    Addresses().feed(shown.page)
    assert sources == [("href", "data:,")]
    assert not list((root / "artifacts" / "model" / "out-a").glob(".*")), "an artifact is never written to"


def test_facts_are_counts_sizes_and_small_files(root):
    facts = read_facts(Pushed(root / "artifacts" / "push" / "out-a"))
    assert facts.title.startswith("Pushed ")
    assert facts.tables["bytes"].keys() == {"pushed.json"}
    assert facts.tables["pushed.json"]["version"] == "1"


def test_sections_are_not_repeated(root):
    assert "metrics.json" not in read_facts(Evaluation(root / "artifacts" / "evaluate" / "out-a")).tables


def test_text_of_users_stands_as_text(root):
    pushed = Pushed(root / "artifacts" / "push" / "out-a")
    content = json.loads(pushed.file("pushed.json").read_text())
    pushed.file("pushed.json").write_text(json.dumps(content | {"note": "<script>alert(1)</script>"}))
    page = show(pushed).page
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_artifact_that_no_run_has_made(root, tmp_path):
    other = Text(root / "artifacts" / "model" / "other")
    other.path.mkdir()
    other.write("x")
    other.seal({})
    with pytest.raises(InputError, match="an artifact must be one that a run has made and that is still there"):
        show(other)


@pytest.mark.parametrize("given", [None, "examples", {"examples": None}])
def test_refuses_folder_without_artifact(given):
    with pytest.raises(
        InputError, match=r"^show must be given an artifact, as `job.run\(step\)\[output\]` is one, got "
    ):
        show(given)
