"""A diagnosis of what the step `quantize` would do."""

from typing import Any

from components.artifacts.standard import Model
from components.training.model_folder import read_model
from keras_bert.options.quantization import Quantization
from keras_bert.tasks.multi_label import MultiLabelClassification
from keras_bert.tasks.regression import Regression
from plugins.doctor.artifacts import Diagnosis
from plugins.doctor.diagnose import _Score, diagnose
from tests.components.tuning_job import LENGTH, eagerly


def test_layers_that_every_recipe_leaves_float_are_not_rounded(line, tmp_path, monkeypatch):
    artifacts, model, diagnosis = line("regression"), Model(tmp_path / "model"), Diagnosis(tmp_path / "diagnosis")
    start, timed = read_model(artifacts.pretrained), list[Any]()
    Regression.build(start.encoder, start.tokenizer, max_length=LENGTH, mean=4000.0).save(model.path)
    model.seal({})
    monkeypatch.setattr("plugins.doctor.diagnose._time", lambda task, parameters, rows: timed.append(parameters) or 1.0)
    settings = Quantization(recipe="dynamic_wi8", calibration_batches=1)
    with eagerly():
        diagnose.run(model=model, examples=artifacts.examples, diagnosis=diagnosis, quantization=settings)
    layers = {layer["layer"] for layer in diagnosis.read().layers}
    assert "regressor" not in layers
    assert "block_0/attention/key" in layers
    assert timed[1].float_layers == ("regressor",)


def test_each_score_has_thresholds_of_the_present_model(line):
    artifacts = line("multi_label")
    start = read_model(artifacts.pretrained)
    task = MultiLabelClassification.build(
        start.encoder, start.tokenizer, max_length=LENGTH, labels=artifacts.examples.features()["settings"]["labels"]
    )
    score = _Score(task, artifacts.examples, 100)
    with eagerly():
        before, thresholds = score(), task.thresholds
        task.model.get_layer("classifier").bias.assign_add([1.0, 1.0])
        after = score()
    assert before == after > 0
    assert all(new > old for new, old in zip(task.thresholds, thresholds, strict=True))
