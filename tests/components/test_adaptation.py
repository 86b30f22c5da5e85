"""Few weights trained beside a frozen encoder: what the step leaves, and what becomes of it further on."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import keras_bert
from components.artifacts.standard import EdgeModel, Model
from components.distill import distill
from components.dsl.errors import InputError
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.quantize import quantize
from components.training.model_folder import read_model
from keras_bert.export.runtimes import OnnxModel, TFLiteModel
from keras_bert.models.encoder import input_names
from keras_bert.options.adaptation import Adapters, Bias, Lora, Prompt
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.tables import DistillationSettings, FineTuningSettings, QuantizationSettings
from keras_bert.options.training import Training
from tests.components import tuning_job
from tests.components.tuning_job import Line, table
from tests.samples import long_but

Lines = Callable[[str], Line]

TRAINING = Training(steps=3, batch_size=8, learning_rate=1e-2, xla="off", precision="float32")
KINDS = (Lora(rank=2), Bias(), Adapters(size=4), Prompt(tokens=3))
NAMES = [kind.kind for kind in KINDS]
TEXTS = ["the old cow near the hen", "one oak near the elm ?"]


@pytest.fixture(autouse=True)
def no_compilation():
    with tuning_job.eagerly():
        yield


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """With room for a prompt in front of the longest rows."""
    folder = tmp_path_factory.mktemp("roomy")
    tuning_job.write_checkpoint(folder, positions=tuning_job.LENGTH + 3)
    return Model(folder / "model")


def tune(pretrained, line, folder, adaptation):
    model = Model(folder)
    given = {"pretrained": pretrained, "examples": line.examples, "fine_tuning": table(FineTuningSettings, TRAINING)}
    fine_tune.run(**given, model=model, adaptation=adaptation)
    return model


def answers(task):
    return np.stack(list(task.outputs(TEXTS)))


def kernels(model):
    weights = read_model(model).encoder.weights
    return {weight.path: weight.numpy() for weight in weights if weight.path.endswith("kernel")}


@pytest.mark.parametrize("kind", long_but(KINDS[:1] + KINDS[3:], KINDS), ids=NAMES)
def test_what_fine_tuning_leaves(line, pretrained, tmp_path, kind):
    model = tune(pretrained, line("classification"), tmp_path / "model", kind)
    task = read_model(model)
    assert (task.adapter is None) == (kind.kind in ("lora", "bias"))
    # Beside the encoder that training began with, it says the same.
    alone = keras_bert.load_adapter(model.file("adapter"), read_model(pretrained))
    np.testing.assert_allclose(answers(alone), answers(task), atol=1e-6)
    alone.adapter.attach()
    trained = sum(math.prod(weight.shape) for weight in alone.model.trainable_weights)
    assert model.counts["trained_parameters"] == trained
    assert model.counts["trained_share"] == pytest.approx(trained / alone.model.count_params(), abs=1e-6)
    before, after = kernels(pretrained), kernels(model)
    shared = before.keys() & after.keys()
    moved = {path for path in shared if not np.array_equal(before[path], after[path])}
    both = {"block_0/attention/query/kernel", "block_0/attention/value/kernel"}
    assert moved == (both if kind.kind == "lora" else set())


def test_the_head_is_fitted_behind_a_prompt(line, pretrained, tmp_path, caplog):
    """A prompt changes the vectors, and the row "frozen encoder" of the table has the head without it."""
    caplog.set_level("INFO", "keras_bert")
    model = tune(pretrained, line("classification"), tmp_path / "model", Prompt(tokens=3))
    fitted = [record.getMessage() for record in caplog.records if "head fitted" in record.getMessage()]
    assert len(fitted) == 2
    assert fitted[0] != fitted[1]
    assert model.file("frozen_head.npz").is_file()


@pytest.mark.parametrize("kind", long_but(KINDS[2:3], KINDS[2:]), ids=NAMES[2:])
def test_an_adapter_that_cannot_be_merged_goes_into_the_files(line, pretrained, tmp_path, kind):
    examples = line("classification").examples
    model = tune(pretrained, line("classification"), tmp_path / "model", kind)
    student, quantized, edge = Model(tmp_path / "student"), Model(tmp_path / "quantized"), EdgeModel(tmp_path / "edge")
    distill.run(
        teacher=model,
        examples=examples,
        student=student,
        shape=Student(num_layers=1),
        distillation=table(DistillationSettings, TRAINING),
    )
    assert student.counts["layers_from_teacher"] == 1
    assert read_model(student).adapter is None
    rounding = table(QuantizationSettings, TRAINING, tuning_job.QUANTIZATION)
    quantize.run(student=model, examples=examples, quantized=quantized, quantization=rounding)
    export_model.run(model=quantized, examples=examples, edge=edge, export=Export(lengths=(16,)))
    task = read_model(quantized)
    assert task.adapter is not None
    # Rounding changes all kernels, and so all of them trained: by more than a step of their grids.
    before, after = kernels(model), kernels(quantized)
    path = "block_0/attention/query/kernel"
    assert np.abs(after[path] - before[path]).max() > np.abs(before[path]).max() / 127
    features = {name: np.ones((2, 7), np.int32) for name in input_names(task.network())}
    expected = task.network()(features)
    for file in (TFLiteModel(edge.file("model_float32.tflite")), OnnxModel(edge.file("model.onnx"), max_length=16)):
        np.testing.assert_allclose(file(**features), expected, atol=1e-4)


def test_an_encoder_without_a_place_for_it(line, pretrained, tmp_path):
    with pytest.raises(InputError, match=r"adaptation: Lora.layers must be among .*, got 'qeury'; the nearest is"):
        tune(pretrained, line("classification"), tmp_path / "a", Lora(layers=("qeury",)))
    with pytest.raises(InputError, match=r"adaptation: Prompt.tokens must leave room for max_length=16 in .* 19 pos"):
        tune(pretrained, line("classification"), tmp_path / "b", Prompt(tokens=4))
