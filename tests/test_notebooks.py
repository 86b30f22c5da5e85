"""Each notebook runs from its first cell to its last, at a small size."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SMALL = {"01_classify_texts.ipynb": "EPOCHS = 5"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook(path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    (place,) = (n for n, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", []))
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(SMALL[path.name]))
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    texts = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert any("image/png" in output.get("data", {}) for output in outputs), "there is no learning curve"
    accuracy, floor = (float(texts.partition(f"{name} ")[2].split()[0]) for name in ("test accuracy", "'statistics':"))
    assert accuracy > floor + 0.1, texts
    assert "Prediction(label=" in texts
