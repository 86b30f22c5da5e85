"""Real text, real rows and a real checkpoint. Slow: run with `pytest -m slow`."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import keras_bert
from keras_bert.metrics.regression import correlations
from pipeline.cli import main

DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()
MINILM = Path(os.environ.get("BERT_MINILM", "absent"))

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="needs BERT_TEST_DATA, a folder with corpus/, sst2/ and stsb/"
)
needs_minilm = pytest.mark.skipif(not MINILM.is_dir(), reason="needs BERT_MINILM, the folder of all-MiniLM-L6-v2")

SETTINGS = """
name = "sst2"
corpus.path = "{data}/corpus/novels-20mb.txt"
examples = {{train = "{data}/sst2/train.tsv", test = "{data}/sst2/dev.tsv", text = "sentence"}}
encoder = {{num_layers = 2, hidden_size = 128, num_heads = 2, intermediate_size = 512, initializer_range = 0.06}}
pretraining = {{steps = 300, batch_size = 8, learning_rate = 1.5e-3}}
fine_tuning = {{steps = 800, learning_rate = 1e-3}}
student.num_layers = 1
distillation = {{steps = 800, learning_rate = 1e-3}}
quantization = {{steps = 200, learning_rate = 1e-4}}
"""


@pytest.mark.slow
@needs_data
def test_sst2_from_novels(tmp_path: Path) -> None:
    settings = tmp_path / "sst2.toml"
    settings.write_text(SETTINGS.format(data=DATA))
    assert len(SETTINGS.strip().splitlines()) <= 15
    assert main(["run", str(settings), "--root", str(tmp_path / "root")]) in (0, 3)
    metrics = next((tmp_path / "root" / "artifacts" / "evaluate").glob("evaluation-*/metrics.json"))
    models = json.loads(metrics.read_text())["models"]
    accuracy = {name: row["metrics"]["accuracy"]["mean"] for name, row in models.items()}
    assert accuracy["teacher"] > accuracy["majority class"] + 0.15
    assert accuracy["tflite int8"] > accuracy["student"] - 0.015


@pytest.mark.slow
@needs_data
@needs_minilm
def test_sts_b_without_training() -> None:
    with (DATA / "stsb" / "dev.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    task = keras_bert.from_hugging_face(MINILM)
    first, second = (task.predict([row[name] for row in rows]) for name in ("sentence1", "sentence2"))
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosines = (first * second).sum(axis=1) / lengths
    # all-MiniLM-L6-v2 in its own library: 0.8672.
    scores = correlations(cosines.tolist(), [float(row["score"]) for row in rows])
    assert scores["spearman"] == pytest.approx(0.867, abs=5e-4)
