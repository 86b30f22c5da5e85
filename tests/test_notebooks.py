"""Each notebook runs from its first cell to its last, at a small size."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the second notebook writes, and the third reads."""
    return tmp_path_factory.mktemp("notebooks") / "topics"


def execute(name, **parameters):
    """The outputs of a notebook, and all that it prints."""
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    (place,) = (n for n, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", []))
    small = "\n".join(f"{key} = {value!r}" for key, value in parameters.items())
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(small))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = (output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    return outputs, "".join(printed)


@pytest.mark.long
def test_classify_texts_and_make_the_model_small():
    outputs, texts = execute("01_classify_texts.ipynb", EPOCHS=5)
    assert any("image/png" in output.get("data", {}) for output in outputs), "there is no learning curve"
    floor = float(texts.partition("'statistics': ")[2].split()[0])
    for model in ("teacher ", "teacher.onnx", "small.tflite, int8"):
        accuracy = float(texts.partition(model)[2].partition("test accuracy ")[2].split(",")[0])
        assert accuracy > floor + 0.1, texts
    assert "Prediction(label=" in texts


@pytest.mark.long
def test_a_job_step_by_step(folder):
    outputs, texts = execute("02_run_a_job_step_by_step.ipynb", FOLDER=str(folder), STEPS=4, EPOCHS=5.0)
    frames = [
        output["data"]["text/html"] for output in outputs if "<iframe" in output.get("data", {}).get("text/html", "")
    ]
    titles = ("Documents", "Rows for pre-training", "Labelled rows, classification", "pretrain", "fine_tune", "Blessed")
    assert len(frames) == 6
    for frame, title in zip(frames[:5], titles, strict=False):
        assert title in frame
    assert "tflite int8" in frames[5]
    assert "setting" in next(line for line in texts.splitlines() if line.startswith("quantize"))
    assert "index.html" in texts


@pytest.mark.long
def test_the_files_as_an_app_opens_them(folder):
    pushed = folder / "runs" / "pushed" / "topics" / "1"
    assert pushed.is_dir(), "the second notebook has pushed nothing"
    _, texts = execute("03_open_the_files.ipynb", FOLDER=str(pushed))
    assert "rows, largest difference 0.0000" in texts
    assert str(folder / "rows.csv") in texts
