"""A diagnosis of what the step `quantize` would do."""

from typing import Any

from components.artifacts.standard import Model
from components.training.model_folder import read_model
from keras_bert.options.quantization import Quantization
from keras_bert.tasks.regression import Regression
from plugins.doctor.artifacts import Diagnosis
from plugins.doctor.diagnose import diagnose
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
