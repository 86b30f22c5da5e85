"""A student that has begun on text: whose encoder it has, and what of a head."""

import functools

import numpy as np
import pytest

from keras_bert.data.array_batches import ArrayRows
from keras_bert.options.compression import Student
from keras_bert.recipes.students import make_student, measure_parts
from keras_bert.tasks.embedding import Embedding
from tests.components.test_distill import SETTINGS, build, rows_of
from tests.samples import long_but

SAME, NARROW = Student(num_layers=1), Student(num_layers=1, hidden_size=4)


def same(one, other, layer):
    pairs = zip(*(model.model.get_layer(layer).get_weights() for model in (one, other)), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


@functools.cache
def begin(shape):
    """A student that a text has made, of another start than any teacher here."""
    start = build("classification", num_layers=2)
    return make_student(Embedding.build(start.encoder, start.tokenizer, max_length=12), shape)[0]


@pytest.mark.parametrize("task", long_but(("classification", "embedding", "question_answering"), SETTINGS))
@pytest.mark.parametrize("shape", [SAME, NARROW])
def test_the_encoder_has_begun_and_the_head_is_the_teachers_if_it_fits(task, shape):
    teacher, small = build(task, num_layers=2), begin(shape)
    student, copied = make_student(teacher, shape, general_student=small)
    assert copied == 1
    assert (type(student), student.settings()) == (type(teacher), teacher.settings())
    for layer in ("token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "block_0"):
        assert same(student, small, layer)
    heads = {"classifier", "regressor", "span_classifier", "pooler"} & {layer.name for layer in student.model.layers}
    # The vectors of a text have no weights of their own.
    assert heads or task == "embedding"
    for layer in heads:
        if shape is SAME:
            assert same(student, teacher, layer)
        else:
            assert np.isfinite(student.model.get_layer(layer).get_weights()[0]).all()


def test_a_student_of_another_shape_than_that_which_has_begun():
    teacher, shape = build("classification", num_layers=2), Student(num_layers=1, intermediate_size=8)
    with pytest.raises(ValueError, match=r"^block_0 must have weights like the teacher's block_0"):
        make_student(teacher, shape, general_student=begin(SAME))


def test_without_a_task_parts_are_chosen_by_the_states_alone():
    start = build("classification", num_layers=2)
    teacher = Embedding.build(start.encoder, start.tokenizer, max_length=12)
    # What nobody reads moves nothing: the first head of the last block.
    kernel = start.model.get_layer("block_1").attention.output_projection.kernel
    kernel.assign(np.where(np.arange(8)[:, None] < 4, 0.0, 0.5 + np.asarray(kernel)))
    rows = [{name: value for name, value in batch.items() if name != "label"} for batch in rows_of(teacher)]
    importance = measure_parts(teacher, rows, is_trained=False)
    assert importance[1].heads[0] == 0 < importance[1].heads[1]
    source = ArrayRows("text", rows[0], max_length=12)
    student, copied = make_student(teacher, Student(num_heads=1, intermediate_size=8), source, is_trained=False)
    assert copied == 2
    ours = student.model.get_layer("block_1").attention.query.kernel
    np.testing.assert_array_equal(ours, start.model.get_layer("block_1").attention.query.kernel[:, 4:])
