"""Each family through the steps: fine-tuned, trained on with rounding, exported, and asked as files."""

import functools

import numpy as np
import pytest

from components.artifacts.standard import EdgeModel, Model, Vocabulary
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.import_checkpoint import import_checkpoint
from components.quantize import quantize
from components.sources.checkpoint import Checkpoint
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings
from keras_bert.export.runtimes import OnnxModel, TFLiteModel
from keras_bert.models.encoder import config_of, input_names
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.tables import FineTuningSettings, QuantizationSettings
from keras_bert.options.training import Training
from keras_bert.recipes.students import make_student
from tests.components import tuning_job
from tests.components.tuning_job import table
from tests.keras_bert.interop.family_checkpoints import FAMILIES, SIMILAR, make_checkpoint

# No more than shows that each step runs: to compile takes longer than all steps.
TRAINING = Training(steps=1, batch_size=8, learning_rate=1e-3, xla="off", precision="float32")


@pytest.mark.long
@pytest.mark.parametrize("family", [*FAMILIES, *SIMILAR])
def test_from_a_checkpoint_to_files(family, tmp_path):
    make_checkpoint(tmp_path / "theirs", family, tuning_job.WORDS)
    pretrained, vocabulary = Model(tmp_path / "pretrained"), Vocabulary(tmp_path / "vocabulary")
    import_checkpoint.run(model=pretrained, vocabulary=vocabulary, source=Checkpoint(str(tmp_path / "theirs")))
    source = tuning_job.write_rows(tmp_path, "classification")
    examples = tuning_job.ingest(tmp_path, vocabulary, source)
    teacher, quantized = (Model(tmp_path / name) for name in ("teacher", "quantized"))
    given, tuning = {"examples": examples}, table(FineTuningSettings, TRAINING, validations=1)
    with tuning_job.eagerly():
        fine_tune.run(**given, pretrained=pretrained, model=teacher, fine_tuning=tuning, new_head=HeadSettings("mean"))
        rounding = table(QuantizationSettings, TRAINING, tuning_job.QUANTIZATION)
        quantize.run(**given, student=teacher, quantized=quantized, quantization=rounding)
    config = config_of(read_model(quantized).model)
    differences = (FAMILIES | SIMILAR)[family][0]
    assert {name: getattr(config, name) for name in differences} == differences
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(model=quantized, examples=examples, edge=edge, export=Export(lengths=(16,)))
    network = read_model(quantized).network()
    # As wide as the file's rows: what BigBird answers depends on how far a row is padded.
    features = {name: np.ones((2, 16), np.int32) for name in input_names(network)}
    features["padding_mask"][:, 7:] = 0
    expected = network(features)
    student, copied = make_student(read_model(teacher), Student(num_layers=1))
    assert copied == config_of(student.model).num_layers == 1
    assert student.network()(features).shape == expected.shape
    for name, kind in (
        ("model_float32.tflite", TFLiteModel),
        ("model.onnx", functools.partial(OnnxModel, max_length=16)),
    ):
        np.testing.assert_allclose(kind(edge.file(name))(**features), expected, atol=1e-4)
