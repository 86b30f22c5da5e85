"""The identifier of a space: who has it, until when, and what refuses the vectors of another space."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

import keras_bert
from keras_bert.compress.vocabulary import reduce_vocabulary
from keras_bert.options.adaptation import Lora
from keras_bert.recipes.retarget import retarget_task
from keras_bert.tasks.embedding import Embedding
from tests.components import tuning_job

TEXTS = [f"{first} {second}" for first in tuning_job.WORDS[:4] for second in tuning_job.WORDS[:4]]
SHORT = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "xla": "off", "verbose": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved embedding of two layers."""
    folder = tmp_path_factory.mktemp("space")
    tuning_job.write_checkpoint(folder, num_layers=2)
    start = keras_bert.load(folder / "model")
    Embedding.build(start.encoder, start.tokenizer, max_length=16).save(folder / "base")
    return folder


@pytest.fixture
def base(folder):
    return keras_bert.load(folder / "base")


@pytest.fixture
def student(base):
    with tuning_job.eagerly():
        return keras_bert.distill(base, TEXTS, layers=[1], **SHORT)


def test_a_space_of_its_own_follows_weights_pooling_and_normalization_alone(folder, base):
    assert re.fullmatch(r"[0-9a-f]{16}", base.space)
    assert json.loads((folder / "base/task.json").read_text())["space"] == base.space
    build = {"tokenizer": base.tokenizer, "max_length": 8}
    same = [
        base.truncated(4),
        Embedding.build(base.encoder, **build, prompts={"query": "x "}, similarity_function="dot"),
        retarget_task(base, "retrieval", {"max_length": 8}, None),
    ]
    assert {task.space for task in same} == {base.space}
    others = [
        Embedding.build(base.encoder, **build, pooling="cls"),
        Embedding.build(base.encoder, **build, normalize=False),
        base.projected(np.eye(base.predict(["x"]).shape[1], dtype="float32")),
    ]
    assert len({base.space, *(task.space for task in others)}) == 4
    # Tasks on one encoder share its weights, and lose their space together.
    before = base.space
    base.encoder.weights[0].assign_add(np.ones_like(base.encoder.weights[0]))
    assert same[0].space == same[1].space == base.space != before


def test_adapters_change_a_space_and_merging_does_not(base):
    plain = base.space
    base.adapt(Lora(rank=2))
    for weight in base.adapter.weights().values():
        weight.assign_add(np.ones_like(weight))
    adapted = base.space
    assert adapted != plain
    with base._attached(None):
        assert base.space == adapted, "that of the task's own adapter, whichever is attached"
    base.merge_adapter()
    assert base.space == adapted


def test_students_have_the_space_of_their_teacher_through_files_until_they_learn_labels(base, student, tmp_path):
    assert student.space == base.space
    student.save(tmp_path / "saved")
    shutil.copytree(tmp_path / "saved", tmp_path / "moved" / "copy")
    again = keras_bert.load(tmp_path / "moved" / "copy")
    assert again.space == again.truncated(4).space == base.space
    assert retarget_task(again, "retrieval", {"max_length": 8}, None).space == base.space
    with tuning_job.eagerly():
        keras_bert.prune(again, TEXTS, **SHORT)
        keras_bert.quantize(again, TEXTS, **SHORT)
    for suffix in ("tflite", "onnx"):
        again.export(tmp_path / f"file.{suffix}", TEXTS)
        assert keras_bert.load(tmp_path / f"file.{suffix}").space == base.space
    again.save(tmp_path / "quantized")
    assert keras_bert.load(tmp_path / "quantized").space == base.space
    with tuning_job.eagerly():
        student.fit(TEXTS[:8], TEXTS[8:], np.linspace(0, 1, 8), **SHORT)
        grandchild = keras_bert.distill(student, TEXTS, layers=[0], **SHORT)
    assert base.space != student.space == grandchild.space
    student.save(tmp_path / "saved")
    assert keras_bert.load(tmp_path / "saved").space == student.space


def test_fewer_tokens_and_vectors_of_another_program(base):
    kept = [*range(base.tokenizer.vocabulary_size - 1)]
    reduced = reduce_vocabulary(base, kept)
    assert reduced.space == base.space
    vectors = np.random.default_rng(0).normal(size=(len(TEXTS), 3))
    with tuning_job.eagerly():
        one, two, three = (
            keras_bert.distill(base, TEXTS, layers=[0], vectors=given, **SHORT)
            for given in (vectors, vectors.tolist(), vectors + 1)
        )
    assert base.space != one.space == two.space != three.space


@pytest.mark.parametrize("make", [dict, pa.table])
def test_a_search_refuses_tables_of_another_space(base, student, make):
    space = next(base.answer_values(TEXTS))[1]
    assert space == base.space
    vectors = list(base.predict(TEXTS, prompt="passage"))
    for task in (base, student):
        matches = task.search(["x"], TEXTS, vectors=make({"vector": vectors, "vector_space": [space] * len(TEXTS)}))
        plain = task.search(["x"], TEXTS, vectors=np.stack(vectors))
        assert [match.index for match in matches[0]] == [match.index for match in plain[0]]
    other = make({"vector": vectors, "vector_space": [space] * (len(TEXTS) - 1) + ["0123456789abcdef"]})
    with pytest.raises(
        ValueError, match=rf"be of the model's space, {space}: embed .*, got 'vectors of the space 0123"
    ):
        student.search(["x"], TEXTS, vectors=other)
    student.search(["x"], TEXTS, vectors=make({"vector": vectors}))
