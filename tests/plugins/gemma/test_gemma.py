"""EmbeddingGemma: equal to transformers and sentence-transformers (tests/golden/gemma.py), saved and exported."""

import json

import numpy as np
import pytest

import keras_bert
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import config_of
from plugins.gemma.settings import Gemma
from tests.golden.gemma import FILE, TEXTS, write_folder
from tests.keras_bert.interop.checkpoints import change_json

pytestmark = pytest.mark.usefixtures("eager")

GOLDEN = json.loads(FILE.read_text())


def test_states_and_vectors_are_those_of_the_libraries(tmp_path):
    task = keras_bert.from_hugging_face(write_folder(tmp_path / "gemma"))
    features = task.encode(TEXTS)
    for row, (ids, states) in enumerate(zip(GOLDEN["ids"], GOLDEN["states"], strict=True)):
        assert features["token_ids"][row, : len(ids)].tolist() == ids
        inputs = {name: features[name][row : row + 1] for name in ("token_ids", "padding_mask")}
        np.testing.assert_allclose(task.encoder(inputs)["sequence_output"][0, : len(ids)], states, atol=5e-5)
    tasks = [task]
    task.save(tmp_path / "saved")
    keras_bert.to_hugging_face(task, tmp_path / "written")
    tasks += [keras_bert.load(tmp_path / "saved"), keras_bert.from_hugging_face(tmp_path / "written")]
    for file in ("model.tflite", "model.onnx"):
        task.export(tmp_path / file)
        tasks.append(keras_bert.load(tmp_path / file))
    for other in tasks:
        for prompt in ("query", "passage"):
            np.testing.assert_allclose(other.predict(TEXTS, prompt=prompt), GOLDEN[prompt], atol=5e-5)


def test_student_keeps_the_kinds_of_its_layers_and_the_encoder_is_adapted(tmp_path):
    task = keras_bert.from_hugging_face(write_folder(tmp_path / "gemma"))
    quick = {"batch_size": 4, "xla": "off", "verbose": 0, "steps": 2, "precision": "float32"}
    student = keras_bert.distill(task, TEXTS, layers=[1, 2], **quick)
    assert config_of(student.model).variant == Gemma(key_value_heads=2, global_layers=(0,), window=6)
    assert student.predict(TEXTS).shape == (4, 16)
    before = task.predict(TEXTS)
    task.adapt(keras_bert.Lora(rank=2))
    keras_bert.fit(task, TEXTS, TEXTS[::-1], [0.1, 0.9, 0.9, 0.1], **quick)
    task.merge_adapter()
    assert not np.allclose(task.predict(TEXTS), before)
    student.save(tmp_path / "student")
    np.testing.assert_allclose(keras_bert.load(tmp_path / "student").predict(TEXTS), student.predict(TEXTS), atol=1e-6)


def test_refuses_other_shapes(tmp_path):
    sizes = {"num_layers": 2, "hidden_size": 16, "num_heads": 4, "intermediate_size": 8, "vocabulary_size": 9}
    with pytest.raises(ValueError, match=r"EncoderConfig.key_value_heads must divide num_heads=4, got 3"):
        EncoderConfig(**sizes, num_segments=0, variant=Gemma(key_value_heads=3))
    with pytest.raises(ValueError, match=r"EncoderConfig.global_layers must be below num_layers=2, got \(2,\)"):
        EncoderConfig(**sizes, num_segments=0, variant=Gemma(global_layers=(2,)))
    folder = write_folder(tmp_path / "gemma")
    change_json(folder / "config.json", head_dim=8)
    with pytest.raises(ValueError, match="head_dim and query_pre_attn_scalar must be hidden_size / num_attention"):
        keras_bert.from_hugging_face(folder)
    change_json(folder / "config.json", head_dim=4, layer_types=["full_attention"])
    with pytest.raises(ValueError, match=r"layer_types must list .* for 3 layers"):
        keras_bert.from_hugging_face(folder)
    change_json(folder / "config.json", use_bidirectional_attention=False)
    with pytest.raises(
        ValueError, match="must be true, got False: a decoder, whose tokens do not attend to later ones"
    ):
        keras_bert.from_hugging_face(folder)
