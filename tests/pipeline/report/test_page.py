"""The page: complete, without an address, all of users' text as text; and where it goes."""

import re

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator.observer import Observer
from pipeline.report import page as page_module
from pipeline.report.page import report_written_after, write_page
from tests.pipeline.report.html_pages import check_complete
from tests.pipeline.report.made_up import SCRIPT, Root, job, measured, node


def test_a_page_is_complete_and_what_users_wrote_is_text(tmp_path):
    root = Root(tmp_path)
    job(root)
    file = write_page(tmp_path)
    assert file == tmp_path / "reports" / "1.html"
    page = check_complete(file.read_text())
    # What people look for comes first.
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert sections == ["scores", "steps", "data", "trainings", "origins"]
    assert page.text.count(SCRIPT) == 3, "in a dropped document, a row and a wrong answer"
    plots = [attributes["aria-label"] for tag, attributes in page.elements if attributes.get("class") == "plot"]
    assert plots == [
        "accuracy over MB of the file",
        "accuracy over ms for one row, one thread",
        "share of right answers over confidence, before calibration",
        "share of right answers over confidence, after calibration",
        "fine_tune: loss over steps",
        "fine_tune: learning rate over steps",
        "fine_tune: tokens a second over steps",
    ]
    for text in ("ran, 2.0 s", "4 test rows", "confidence", "0.9300", "tflite int8, shipped", "fine_tune"):
        assert text in page.text


def test_names_with_markup_and_mathematics_are_text_in_pictures_too(tmp_path):
    root = Root(tmp_path)
    name = "fine_tune-<b>$x$\"'"
    run = root.run(node(name, makes={"model": "Model"}), pipeline="<i>job</i>")
    losses = {"step": 1, "<u>_loss": 1.0, "$y$_loss": 2.0}
    root.log(run, name, [losses, {**losses, "step": 2}])
    page = check_complete(write_page(tmp_path).read_text())
    assert page.text.count(name) > 1
    assert "<i>job</i>" in page.text
    assert "<u> loss" in page.text
    assert "$y$ loss" in page.text


@pytest.mark.parametrize(
    ("state", "note"),
    [
        ("failed", "No step recorded the reason"),
        ("interrupted", "The same command continues it"),
        ("running", "The run goes on, or was killed"),
    ],
)
def test_of_a_run_that_came_nowhere_there_is_what_there_is(tmp_path, state, note):
    Root(tmp_path).run(state=state)
    page = check_complete(write_page(tmp_path).read_text())
    assert [tag for tag, _ in page.elements if tag == "section"] == []
    assert state in page.text
    assert note in page.text


def test_a_failed_run_says_what_to_do_next_and_shows_no_earlier_training_as_its_result(tmp_path):
    root = Root(tmp_path)
    run = root.run(
        node("pretrain", makes={"model": "Model"}),
        node("fine_tune", "pretrain", state="failed", message="loss is nan at step 7"),
        state="failed",
        plan={"pretrain": [], "fine_tune": ["pretrain"], "push": ["fine_tune"]},
    )
    root.log(run, "pretrain", [{"step": 9, "masked_loss": 4.0, "validation_masked_loss": 4.5}])
    root.log(run, "fine_tune", [{"step": 6, "loss": 0.7, "skipped_steps": 3}])
    (tmp_path / "logs" / str(run) / "fine_tune.log").write_text("Traceback\n")
    page = check_complete(write_page(tmp_path).read_text())
    assert [attributes for tag, attributes in page.elements if attributes.get("class") == "tile"] == []
    for text in (
        "loss is nan at step 7",
        "Remove the cause, then run the same command: it starts at fine_tune and uses the finished step again.",
        f"logs/{run}/fine_tune.log",
        "not reached",
        "6 steps; fine_tune failed after these steps; fine_tune: 3 steps skipped, as gradients overflowed in float16",
    ):
        assert text in page.text
    plots = [attributes["aria-label"] for tag, attributes in page.elements if attributes.get("class") == "plot"]
    assert "fine_tune: loss over steps" in plots


def test_what_is_wider_than_a_phone_shrinks_or_scrolls_under_a_shadow(tmp_path):
    job(Root(tmp_path))
    text = write_page(tmp_path).read_text()
    page = check_complete(text)
    (drawing,) = [attributes for tag, attributes in page.elements if attributes.get("class") == "steps"]
    widest, least = (float(value) for value in re.findall(r"-width: ([\d.]+)px", drawing["style"]))
    assert least == pytest.approx(0.72 * widest, abs=0.1)
    assert "width" not in drawing
    (rule,) = re.findall(r"\.scroll \{[^}]*\}", text)
    assert "var(--shade)" in rule


def test_a_run_of_pre_training_only_is_told_by_its_validation(tmp_path):
    root = Root(tmp_path)
    run = root.run(node("pretrain", makes={"model": "Model"}))
    root.log(run, "pretrain", [{"step": 9, "masked_loss": 4.0, "validation_masked_loss": 4.5}])
    text = check_complete(write_page(tmp_path).read_text()).text
    assert "pretrain, on validation rows" in text
    assert "4.5" in text


@pytest.mark.parametrize(
    ("mistakes", "texts"),
    [
        (
            {
                "measure": "wrong tags",
                "wrong": 1,
                "rows": [
                    {"words": [["Ann", "B-per", "O"], ["ran", "O", "O"], ["far", "B-loc", "B-loc"]], "value": 1.0}
                ],
            },
            [
                "Of 9 test rows 1 have a wrong answer; 1 are shown, the most wrong tags first.",
                "O, not B-per",
                "B-loc",
            ],
        ),
        (
            {
                "measure": "F1",
                "wrong": 2,
                "rows": [{"texts": ["who ?", "nobody"], "truth": "", "answer": "<b>me</b>", "value": 0.0, "words": []}],
            },
            ["1 are shown, the least F1 first.", "who ?", "nobody", "<b>me</b>", "(none)", "0.0000"],
        ),
        (
            {
                "measure": "wrong labels",
                "wrong": 1,
                "rows": [{"texts": ["a"], "truth": "sea", "answer": "sky", "value": 2.0, "words": []}],
            },
            ["1 are shown, the most wrong labels first."],
        ),
        (
            {
                "measure": "difference",
                "wrong": None,
                "rows": [{"texts": ["a"], "truth": "0.5", "answer": "0.25", "value": 0.25, "words": []}],
            },
            ["Of 9 test rows 1 are shown, the largest difference first.", "0.2500"],
        ),
    ],
)
def test_the_worst_answers_of_every_task(tmp_path, mistakes, texts):
    answers = {"mistakes": {**mistakes, "total": 9}, "reliability": None}
    artifacts = {"evaluation": {"metrics.json": measured(), "answers.json": answers}}
    Root(tmp_path).run(node("evaluate", makes={"evaluation": "Evaluation"}, files=artifacts))
    text = check_complete(write_page(tmp_path).read_text()).text
    for one_text in texts:
        assert one_text in text


def test_pictures_are_drawn_once(tmp_path, monkeypatch):
    job(Root(tmp_path))
    first = write_page(tmp_path).read_text()
    monkeypatch.setattr("pipeline.report.figures.as_svg", None)
    for name in ("training", "size", "calibration"):
        monkeypatch.setattr(f"pipeline.report.{name}_figure.as_svg", None)
    assert write_page(tmp_path, 1, tmp_path / "page.html").read_text() == first
    (tmp_path / "reports" / ".drawn.json").write_text("{")
    with pytest.raises(TypeError):
        write_page(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "null", "[1]", '{"rows": 1}'])
def test_a_damaged_artifact_is_named_in_one_line(tmp_path, content):
    root = Root(tmp_path)
    job(root)
    folder = root.folder("ingest_examples", "examples")
    (folder / "features.json").write_text(content)
    with pytest.raises(InputError) as error:
        write_page(tmp_path)
    rule = "must be as its step wrote it, got other content; run the job again, which makes it again"
    assert str(error.value) == f"{folder} {rule}"
    assert not (tmp_path / "reports").exists()


def test_an_error_that_no_artifact_explains_is_no_input_error(tmp_path, monkeypatch):
    """The artifacts are of types with names of their own, and intact."""
    job(Root(tmp_path))
    monkeypatch.setattr(page_module, "make_page", lambda *_: {}["key"])
    with pytest.raises(KeyError):
        write_page(tmp_path)


class RunSummary:
    """What `report_written_after` says."""

    def __init__(self):
        self.said, self.complaints = [], []


def follow(root, summary, error=None):
    """A run of one step, and how it ends."""
    observer = Observer()
    with report_written_after(root, observer, summary.said.append, summary.complaints.append):
        observer.run = Root(root).run(
            node("a", makes={"out": "Text"}), state="done" if error is None else "interrupted"
        )
        if error is not None:
            raise error


def test_a_run_is_reported_however_it_ends(tmp_path):
    summary = RunSummary()
    follow(tmp_path, summary)
    with pytest.raises(KeyboardInterrupt):
        follow(tmp_path, summary, KeyboardInterrupt())
    assert summary.said == [f"report: {tmp_path / 'reports' / name}" for name in ("1.html", "2.html")]
    assert summary.complaints == []


def test_a_run_that_another_process_starts_meanwhile_is_not_reported(tmp_path):
    summary, observer = RunSummary(), Observer()
    with report_written_after(tmp_path, observer, summary.said.append, summary.complaints.append):
        observer.run = Root(tmp_path).run(node("a", makes={"out": "Text"}))
        Root(tmp_path).run(node("b", makes={"out": "Text"}))
    with report_written_after(tmp_path, Observer(), summary.said.append, summary.complaints.append):
        Root(tmp_path).run(node("b", makes={"out": "Text"}))
    assert summary.said == [f"report: {tmp_path / 'reports' / '1.html'}"]


def test_what_began_no_step_is_not_reported(tmp_path):
    summary = RunSummary()
    observer, report = Observer(), (summary.said.append, summary.complaints.append)
    with pytest.raises(InputError), report_written_after(tmp_path, observer, *report):
        raise InputError("no")
    with report_written_after(tmp_path, observer, *report):
        observer.run = Root(tmp_path).run(state="interrupted")
    assert (summary.said, summary.complaints) == ([], [])


def test_a_report_that_fails_is_one_line_and_changes_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("the first\nand the second line")

    monkeypatch.setattr(page_module, "make_page", fail)
    summary = RunSummary()
    follow(tmp_path, summary)
    assert (summary.said, summary.complaints) == ([], ["there is no report: the first and the second line"])
