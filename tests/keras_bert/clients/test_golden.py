import dataclasses
import json

import numpy as np
import pytest

from keras_bert.clients.golden import add_calibrated_answers, make_golden_rows, write_golden
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.mediapipe import export_mediapipe
from keras_bert.export.onnx import export_onnx
from keras_bert.export.sample_texts import TEXTS
from keras_bert.options.data import Prompts
from tests.keras_bert.clients.exported import LENGTHS, export_folder
from tests.keras_bert.export.word_tasks import SETTINGS, make_task
from tests.samples import long_but


@pytest.mark.parametrize("kind", long_but(("question_answering", "embedding"), SETTINGS))
def test_rows_are_what_the_file_answers(kind, tmp_path):
    folder = export_folder(make_task(kind), tmp_path)
    task, rows = load_exported(folder), make_golden_rows(folder)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert {row["text"] for row in rows} == set(TEXTS)
    assert any("second" in row for row in rows) == (kind not in ("token_classification", "embedding"))
    assert max(len(row["token_ids"]) for row in rows) == LENGTHS[-1], "one that is cut"
    for row in rows:
        features = {name: np.array([row[name]]) for name in ("token_ids", "segment_ids", "padding_mask")}
        output = task.model.predict_on_batch(features)
        output = output["embedding"] if kind == "embedding" else output
        np.testing.assert_allclose(np.array(row["outputs"]["model_float32.tflite"]), output[0], atol=1e-6)
        assert len(row["pieces"]) == len(row["offsets"]) == task.count_tokens([row["text"]])[0] - 2


def test_each_prompt_has_a_row(tmp_path):
    task = make_task("embedding")
    task.prompts = Prompts(query="film: ", passage="plot: ")
    folder = export_folder(task, tmp_path)
    *_, query, passage = make_golden_rows(folder)
    assert [(row["text"], row["prompt"]) for row in (query, passage)] == [(TEXTS[0], "query"), (TEXTS[0], "passage")]
    for row in (query, passage):
        vector = load_exported(folder).predict([TEXTS[0]], prompt=row["prompt"])[0]
        np.testing.assert_allclose(row["outputs"]["model_float32.tflite"], vector, atol=1e-6)
    assert query["token_ids"] != passage["token_ids"]


def test_answers_are_those_of_predict(tmp_path):
    folder = export_folder(make_task("question_answering"), tmp_path)
    task = load_exported(folder)
    for row in make_golden_rows(folder):
        (expected,) = task.predict([row["text"]], [row["second"]])
        answer = {**row["answer"], "null_score_difference": row["answer"]["null_score_difference"] or np.inf}
        for name, value in dataclasses.asdict(expected).items():
            assert answer[name] == (value if isinstance(value, str | int) else pytest.approx(value, abs=1e-6))


def test_tags_that_are_no_entities_have_no_answer(tmp_path):
    task = make_task("token_classification")
    task.labels = ("NOUN", "VERB", "X")
    assert all("answer" not in row for row in make_golden_rows(export_folder(task, tmp_path)))


def test_each_file_has_outputs(tmp_path):
    task = make_task("classification")
    folder = export_folder(task, tmp_path)
    export_onnx(task.network(), folder / "model.onnx")
    export_mediapipe(task, folder / "model_mediapipe.tflite")
    attach_companions(task, folder / "model_mediapipe.tflite")
    rows = {(row["text"], row.get("second")): row["outputs"] for row in make_golden_rows(folder)}
    for (text, second), outputs in rows.items():
        files = {"model_float32.tflite", "model.onnx"} | ({"model_mediapipe.tflite"} if second is None else set())
        assert outputs.keys() == files
        np.testing.assert_allclose(outputs["model.onnx"], outputs["model_float32.tflite"], atol=1e-4)
        if second is None and text.isascii():
            shares = np.exp(outputs["model.onnx"]) / np.exp(outputs["model.onnx"]).sum()
            np.testing.assert_allclose(outputs["model_mediapipe.tflite"], shares, atol=1e-4)
    accents = rows["Ünïcödé, naïve café, Ærøskøbing and a STRAẞE.", None]
    assert not np.allclose(np.log(accents["model_mediapipe.tflite"][0]), accents["model.onnx"][0], atol=1e-2)


def test_several_labels_have_sigmoids_and_thresholds(tmp_path):
    task = make_task("multi_label")
    folder = export_folder(task, tmp_path)
    export_mediapipe(task, folder / "model_mediapipe.tflite")
    attach_companions(task, folder / "model_mediapipe.tflite")
    rows = make_golden_rows(folder)
    assert len({tuple(answer["label"] for answer in row["answer"]) for row in rows}) > 1, "not one answer to all"
    for row in rows:
        shares = 1 / (1 + np.exp(-np.array(row["outputs"]["model_float32.tflite"])))
        pairs = zip(task.labels, shares, task.thresholds, strict=True)
        expected = {label: share for label, share, least in pairs if share >= least}
        assert {answer["label"]: answer["probability"] for answer in row["answer"]} == pytest.approx(expected, abs=1e-5)
        if "second" not in row and row["text"].isascii():
            np.testing.assert_allclose(row["outputs"]["model_mediapipe.tflite"], shares, atol=1e-4)


@pytest.mark.parametrize("kind", ["classification", "token_classification"])
def test_answers_are_calibrated_beside_the_raw_ones(kind, tmp_path):
    folder = export_folder(make_task(kind), tmp_path)
    write_golden(folder, make_golden_rows(folder))
    before = (folder / "golden.json").read_bytes()
    add_calibrated_answers(folder)
    assert (folder / "golden.json").read_bytes() == before, "no calibration, no change"
    metrics = json.loads((folder / "metrics.json").read_text())
    (folder / "metrics.json").write_text(json.dumps(metrics | {"calibration": {"temperature": 3.0, "threshold": 0.5}}))
    add_calibrated_answers(folder)
    task, rows = load_exported(folder), json.loads((folder / "golden.json").read_text())
    sure = []
    for row, raw in zip(rows, json.loads(before), strict=True):
        assert {name: value for name, value in row.items() if name != "calibrated"} == raw
        (answer,) = task.predict([row["text"]], *([[row["second"]]] if "second" in row else []))
        for expected, actual in zip(
            *(
                answer_value if isinstance(answer_value, list) else [answer_value]
                for answer_value in (answer, row["calibrated"])
            ),
            strict=True,
        ):
            assert actual["probability"] == pytest.approx(expected.probability, abs=1e-6)
            assert actual["is_sure"] == (expected.probability >= 0.5)
            sure.append(actual["is_sure"])
    assert set(sure) == {True, False}
    assert any(row["calibrated"] != row["answer"] for row in rows)
