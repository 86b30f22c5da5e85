"""The table of models beside their teacher."""

from plugins.explain.artifacts import (
    Explanation,
    ExplanationReport,
    HeadReport,
    ModelAgreement,
    ProbeReport,
    TreeProbeReport,
)
from plugins.explain.tables import agreement_tables
from tests.pipeline.views.contents import cells, lines_of, screen

DIFFERENT = {
    "text": "a <b>",
    "second_text": None,
    "target": "sea",
    "words": ["a", "<b>"],
    "teacher": [0.5, -0.25],
    "model": [0.0, 0.1],
}
REPORT = ExplanationReport(
    rows=40,
    agreements=[
        ModelAgreement("student", 0.975, 0.8124, 38, [1, 3], [0.123, 0.456], [DIFFERENT], {"no word": 2}),
        ModelAgreement("model.tflite", None, None, 0, None, None, [], {}),
    ],
    heads=[
        HeadReport(
            "teacher",
            kinds=[["broad", "itself"], ["broad", "broad"]],
            entropies=[[1.0, 0.5], [2.0, 2.0]],
            loss_rises=[[0.25, -0.125], [0.5, 0.0]],
            importances=None,
            positions=[[0.1, 0.0], [-0.2, 0.3], [0.4, 0.0], [0.0, -0.1]],
        )
    ],
    probes=[
        ProbeReport(
            "teacher", 100, 20, 3, [0.5, 0.75], [0.25, 0.5], 0.4, 0.8, 0.625, TreeProbeReport([0.3, 0.55], 0.5)
        ),
    ],
)


def test_a_row_for_each_model():
    console = screen()
    for table in agreement_tables(REPORT):
        table.show(console)
    printed = "\n".join(lines_of(console))
    assert cells(lines_of(console)) == [
        ["student", "97.5", "0.81", "0.12, 0.46"],
        ["model.tflite", "", "", ""],
        ["teacher", "4", "3 broad, 1 itself", "1.0 +0.500, 0.0 +0.250, 1.1 +0.000"],
        ["teacher", "embeddings", "50.0", "25.0", "30.0"],
        ["teacher", "1", "75.0", "50.0", "55.0"],
    ]
    assert "on 40 validation rows, beside the teacher" in printed
    assert "beside layers 1, 3 of the teacher" in printed
    assert "student: 2 of the rows cannot be explained and are left out: no word" in printed
    assert "linear probes of 3 tags, learnt from 100 words, measured on 20; the most frequent tag has 40.0 %" in printed
    assert "teacher: the mean of all layers has 80.0 %, its center is layer 0.6" in printed
    assert "edges between neighbours are 50.0 % of all edges" in printed


def test_without_tagged_words_there_is_no_table_of_probes():
    assert len(agreement_tables(REPORT._replace(probes=[]))) == 2


def test_a_report_is_read_as_it_was_written(tmp_path):
    artifact = Explanation(tmp_path)
    artifact.write(REPORT)
    assert artifact.read() == REPORT
