"""The table of models beside their teacher."""

import io

from rich.console import Console

from components.artifacts.measurements import ExplanationReport, HeadKinds, ModelAgreement
from pipeline.views.agreement import show_agreements

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
        ModelAgreement("student", 0.975, 0.8124, 38, [1, 3], [0.123, 0.456], [DIFFERENT]),
        ModelAgreement("model.tflite", 0.95, None, 0, None, None, []),
    ],
    heads=[HeadKinds("teacher", [["broad", "itself"], ["broad", "broad"]], [[1.0, 0.5], [2.0, 2.0]])],
)


def test_a_row_for_each_model() -> None:
    console = Console(file=io.StringIO(), width=120)
    show_agreements(REPORT, console)
    printed = console.file.getvalue()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert cells == [
        ["student", "97.5", "0.81", "0.12, 0.46"],
        ["model.tflite", "95.0", "", ""],
        ["teacher", "4", "3 broad, 1 itself"],
    ]
    assert "on 40 validation rows, beside the teacher" in printed
    assert "beside layers 1, 3 of the teacher" in printed
