"""What an evaluation found, and what becomes of many labels."""

from components.artifacts.evaluation import Metrics, SliceScore
from pipeline.report.header import read_header
from pipeline.report.page import write_page
from pipeline.report.record import read_record
from pipeline.report.scores import describe_confusion, read_scores
from pipeline.report.size_figure import ModelPoint, read_model_sizes
from tests.pipeline.report.made_up import SCRIPT, Root, answers, job, measured, node


def test_what_is_measured_decided_and_answered(tmp_path):
    job(Root(tmp_path))
    (scores,) = read_scores(read_record(tmp_path))
    assert scores.models.headings == ["model", "accuracy", "MB", "MB deflated", "ms"]
    assert scores.models.rows[1:] == [
        ["teacher", "80.00", "4.00", "", "8.00"],
        ["tflite int8", "75.00", "1.00", "0.90", "2.00"],
    ]
    assert scores.models.notes == ["on 4 test rows, x 100; ms: the median for one row on one thread"]
    assert (scores.blessed, scores.reasons) == (True, [(True, "good"), (False, "bad"), (None, "not compared: x")])
    assert list(scores.classes) == ["farm", "sea"]
    assert scores.confusion.rows == [[(1, 0.5), (1, 0.5)], [(0, 0.0), (2, 1.0)]]
    assert scores.calibration == ["expected calibration error 10.00 -> 2.00 on validation, 20.00 -> 3.00 on test rows"]
    assert scores.mistakes == answers()["mistakes"]


def test_an_evaluation_of_an_older_release_has_no_answers_and_nothing_decides_a_comparison(tmp_path):
    root = Root(tmp_path)
    content = {**measured(), "calibration": None, "confusion": None, "report": None}
    root.run(node("evaluate", makes={"evaluation": "Evaluation"}, files={"evaluation": {"metrics.json": content}}))
    (scores,) = read_scores(read_record(tmp_path))
    assert (scores.mistakes, scores.reliability, scores.calibration, scores.confusion) == (None, None, [], None)
    assert (scores.blessed, scores.reasons, dict(scores.classes)) == (None, [], {})


def test_of_many_labels_the_commonest_confusions_are_told():
    labels = [str(number) for number in range(30)]
    counts = [[10 if row == column else 0 for column in range(30)] for row in range(30)]
    counts[3][4], counts[7][1] = 5, 30
    lines = describe_confusion(labels, counts)
    assert lines.labels == lines.rows == []
    assert lines.pairs == [("7", "1", 30, 0.75), ("3", "4", 5, 1 / 3)]


def test_models_that_have_a_size_are_points():
    assert read_model_sizes(Metrics.from_json(measured(0.79, 0.81))) == [
        ModelPoint("teacher", 4.0, 8.0, 80.0, 1.0),
        ModelPoint("tflite int8", 1.0, 2.0, 75.0, None, "shipped"),
    ]
    assert read_model_sizes(Metrics.from_json(measured(0.79, 0.81)), refused=True)[1].decision == "refused"


def test_the_head_tells_what_is_shipped_beside_its_teacher(tmp_path):
    job(Root(tmp_path))
    record = read_record(tmp_path)
    head = read_header(record, read_scores(record), [])
    assert (head.pipeline, head.run, head.state, head.pushed) == ("job", 1, "done", "/there/job/1")
    assert head.figures == [
        ("accuracy", "75.00", "tflite int8, 4 test rows"),
        # 5 of the 30 points that the teacher has above the majority class.
        (
            "of the teacher",
            "93.8 %",
            "which reaches 80.00; the loss is 17 % of the 30.00 points that the teacher adds over the majority class",
        ),
        ("MB", "1.00", "teacher 4.00"),
        ("MB deflated", "0.90", ""),
        ("ms", "2.00", "teacher 8.00"),
    ]


def test_the_head_tells_what_went_wrong_with_the_end_of_the_log(tmp_path):
    root = Root(tmp_path)
    run = root.run(
        node("a", makes={"out": "Text"}), node("b-0.5", "a", state="failed", message="broke"), state="failed"
    )
    log = tmp_path / "logs" / str(run) / "b-0.5.log"
    log.parent.mkdir(parents=True)
    log.write_text("first\nlast\n")
    (trouble,) = read_header(read_record(tmp_path), [], []).troubles
    remedy = "Remove the cause, then run the same command: it starts at b-0.5 and uses the finished step again."
    assert trouble == ("b-0.5", "failed", "broke", remedy, "first\nlast", "logs/1/b-0.5.log")


def test_the_same_command_does_not_help_a_refused_run(tmp_path):
    root = Root(tmp_path)
    root.run(node("a", makes={"out": "Text"}), node("push", "a", state="refused", message="no"), state="refused")
    (trouble,) = read_header(read_record(tmp_path), [], []).troubles
    assert trouble.remedy == (
        "Remove a cause that the message names, train with other data or settings, or change the limit that the "
        "message names. The same command is refused again until then; steps that a change does not concern are used "
        "again."
    )


def test_a_warning_is_no_cross_under_the_heading_blessed(tmp_path):
    root = Root(tmp_path)
    decision = {"blessed": True, "reasons": ["yes: it is good", "not compared: x"], "warnings": ["it is below BM25"]}
    outputs = {"evaluation": {"metrics.json": measured()}, "blessing": {"blessing.json": decision}}
    root.run(node("evaluate", makes={"evaluation": "Evaluation", "blessing": "Blessing"}, files=outputs))
    (scores,) = read_scores(read_record(tmp_path))
    assert scores.reasons == [(True, "it is good"), (None, "not compared: x"), (None, "warning: it is below BM25")]
    page = write_page(tmp_path).read_text()
    assert "<h3>Blessed</h3>" in page
    assert '<li><b class="cached">·</b>warning: it is below BM25</li>' in page
    assert "✗" not in page


def test_the_worst_slices_are_shown_but_not_all_rows(tmp_path):
    root = Root(tmp_path)
    names = ("kind", "value", "rows", "score", "low", "high")
    slices = [("source", SCRIPT, 3, 0.5, 0.25, 0.75), ("unknown", "0 %", 4, 0.75, 0.5, 1.0)]
    content = {**measured(), "slices": [dict(zip(names, one, strict=True)) for one in slices]}
    root.run(node("evaluate", makes={"evaluation": "Evaluation"}, files={"evaluation": {"metrics.json": content}}))
    (scores,) = read_scores(read_record(tmp_path))
    assert scores.slices == [SliceScore(*slices[0])]
    page = write_page(tmp_path).read_text()
    assert '<td class="n">3</td><td class="n">50.00</td><td class="n">25.00 to 75.00</td></tr>' in page
    assert SCRIPT not in page
