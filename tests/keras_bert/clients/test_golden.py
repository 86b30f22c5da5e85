import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from keras_bert.clients.golden import TEXTS, golden_rows
from keras_bert.export.bundle import load_exported
from tests.keras_bert.clients.exported import LENGTHS, export_folder
from tests.keras_bert.export.word_tasks import SETTINGS, make_task
from tests.samples import long_but


@pytest.mark.parametrize("kind", long_but(("question_answering", "embedding"), SETTINGS))
def test_rows_are_what_the_file_answers(kind: str, tmp_path: Path) -> None:
    task = load_exported(export_folder(make_task(kind), tmp_path))
    rows = golden_rows(task)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert {row["text"] for row in rows} == set(TEXTS)
    assert any("second" in row for row in rows) == (kind not in ("token_classification", "embedding"))
    assert max(len(row["token_ids"]) for row in rows) == LENGTHS[-1], "one that is cut"
    for row in rows:
        features = {name: np.array([row[name]]) for name in ("token_ids", "segment_ids", "padding_mask")}
        output = task.model.predict_on_batch(features)
        output = output["embedding"] if kind == "embedding" else output
        np.testing.assert_allclose(np.array(row["output"]), output[0], atol=1e-6)
        assert len(row["pieces"]) == len(row["offsets"]) == task.count_tokens([row["text"]])[0] - 2


def test_answers_are_those_of_predict(tmp_path: Path) -> None:
    task = load_exported(export_folder(make_task("question_answering"), tmp_path))
    for row in golden_rows(task):
        (wanted,) = task.predict([row["text"]], [row["second"]])
        found = {**row["answer"], "null_score_difference": row["answer"]["null_score_difference"] or np.inf}
        for name, value in dataclasses.asdict(wanted).items():
            assert found[name] == (value if isinstance(value, str | int) else pytest.approx(value, abs=1e-6))


def test_tags_that_are_no_entities_have_no_answer(tmp_path: Path) -> None:
    task = make_task("token_classification")
    task.labels = ("NOUN", "VERB", "X")
    assert all("answer" not in row for row in golden_rows(load_exported(export_folder(task, tmp_path))))
