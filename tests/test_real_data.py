"""The novels as corpus and SST-2's rows as task, with settings of 15 lines. Slow: run with `pytest -m slow`."""

import json
import os
from pathlib import Path

import pytest

from pipeline.cli import main

DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()

SETTINGS = """
name = "sst2"
[corpus]
path = "{data}/corpus/novels-20mb.txt"
[examples]
train = "{data}/sst2/train.tsv"
test = "{data}/sst2/dev.tsv"
text = "sentence"
[training]
steps = 300
[fine_tuning]
steps = 800
[distillation.training]
steps = 800
[quantization]
steps = 200
"""


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="needs BERT_TEST_DATA, a folder with corpus/ and sst2/")
def test_sst2_from_novels(tmp_path: Path) -> None:
    settings = tmp_path / "sst2.toml"
    settings.write_text(SETTINGS.format(data=DATA))
    assert len(SETTINGS.strip().splitlines()) <= 15
    assert main(["run", str(settings), "--root", str(tmp_path / "root")]) in (0, 3)
    found = next((tmp_path / "root" / "artifacts" / "evaluate").glob("evaluation-*/metrics.json"))
    models = json.loads(found.read_text())["models"]
    assert models["teacher"]["accuracy"] > models["majority class"]["accuracy"] + 0.15
    assert models["tflite int8"]["accuracy"] > models["student"]["accuracy"] - 0.015
