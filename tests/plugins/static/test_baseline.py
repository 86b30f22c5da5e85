"""The row `static`: a fitted head on token vectors, for tasks of single texts."""

import numpy as np
import pytest

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.standard import Model, Vocabulary
from components.evaluate import evaluate
from components.training.model_folder import read_model
from plugins.static.baseline import fit_static, static_baseline
from tests.components import tuning_job


@pytest.mark.parametrize("task", ["classification", "multi_label", "regression", "embedding"])
def test_a_static_model_of_single_texts_learns_a_head(tmp_path, task):
    tuning_job.write_checkpoint(tmp_path)
    source = tuning_job.write_rows(tmp_path, task)
    examples = tuning_job.ingest(tmp_path, Vocabulary(tmp_path / "vocabulary"), source)
    checkpoint = Model(tmp_path / "model")
    rows = static_baseline(checkpoint, examples)
    if task == "embedding":
        assert rows == {}
        return
    assert rows.keys() == {"static"}
    with tuning_job.eagerly():
        fitted = fit_static(checkpoint, examples)
        assert fitted.name == task
        table = read_model(checkpoint).encoder.get_layer("token_embedding").matrix()
        network = fitted.encoder
        ids = fitted.encode(["cow oak"])
        states = network({name: ids[name] for name in network.input})["sequence_output"][0]
        inner = ids["token_ids"][0][1:3]
        np.testing.assert_allclose(np.mean(states, axis=0), np.asarray(table)[inner].mean(axis=0), atol=1e-6)


def test_the_row_is_in_the_table_of_models(tmp_path):
    line = tuning_job.Line("classification", tmp_path, tmp_path / "line")
    (tmp_path / "line").mkdir()
    tuning_job.write_checkpoint(tmp_path)
    evaluation = Evaluation(tmp_path / "evaluation")
    evaluate.run(
        examples=line.examples,
        teachers=[line.blank],
        students=[],
        edges=[],
        evaluation=evaluation,
        blessing=Blessing(tmp_path / "blessing"),
        checkpoint=line.pretrained,
        baselines=False,
    )
    models = evaluation.read().models
    assert models["static"].metrics["accuracy"].mean > models["teacher"].metrics["accuracy"].mean
    assert not models["static"].baseline, "it refuses no file"
