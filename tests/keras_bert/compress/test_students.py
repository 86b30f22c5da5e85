import numpy as np
import pytest

from keras_bert.compress.students import Importance, factorize, initialize_from_teacher, spread_layers
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.embedding import build_embedder
from keras_bert.tasks.question_answering import build_span_classifier
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.compress import tiny
from tests.keras_bert.models.test_encoder import randomize

EMBEDDINGS = {"token_embedding", "position_embedding", "segment_embedding", "embeddings_norm"}


@pytest.mark.parametrize(
    ("teacher", "student", "expected"),
    [
        # As the layer map of TinyBERT, g(m) = 3 m, and of DistilBERT's size.
        (12, 4, (2, 5, 8, 11)),
        (12, 6, (1, 3, 5, 7, 9, 11)),
        (4, 4, (0, 1, 2, 3)),
        (12, 1, (11,)),
        # What is not a multiple: the last one, and no gap larger than another by more than one.
        (12, 5, (2, 4, 7, 9, 11)),
        (4, 3, (1, 2, 3)),
        (6, 4, (1, 2, 4, 5)),
    ],
)
def test_layers_are_spread_evenly_up_to_the_last(teacher, student, expected):
    assert spread_layers(teacher, student) == expected


def test_every_spread_rises_to_the_last_by_steps_that_differ_by_one_at_most():
    for teacher in range(1, 25):
        for student in range(1, teacher + 1):
            layers = np.array(spread_layers(teacher, student))
            gaps = np.diff(layers, prepend=-1)
            assert len(layers) == student
            assert layers[-1] == teacher - 1
            assert gaps.min() >= 1
            assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("student", [0, 5])
def test_a_teacher_has_no_more_layers_than_it_has(student):
    with pytest.raises(ValueError, match=f"a student must have 1 to 4 of the teacher's layers, got {student}"):
        spread_layers(4, student)


def assert_copied(student, teacher, copied):
    for name, source in copied.items():
        ours, theirs = student.get_layer(name).weights, teacher.get_layer(source).weights
        for weight, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(weight.numpy(), expected.numpy()[tuple(map(slice, weight.shape[:1]))])


@pytest.mark.parametrize("layers", [(1, 3), (3, 0), (2, 2)])
def test_a_student_takes_the_blocks_that_are_named_and_all_around_them(layers):
    teacher, student = tiny.build(num_layers=4), tiny.build(num_layers=2, max_length=8)
    randomize(teacher)
    copied = initialize_from_teacher(student, teacher, layers)
    around = {name: name for name in (*EMBEDDINGS, "pooler", "classifier")}
    assert copied == {**around, "block_0": f"block_{layers[0]}", "block_1": f"block_{layers[1]}"}
    assert_copied(student, teacher, copied)


@pytest.mark.parametrize(
    ("build", "head"),
    [
        (build_tagger, {"classifier"}),
        (build_regressor, {"regressor", "pooler"}),
        (build_span_classifier, {"span_classifier"}),
        (build_embedder, set()),
    ],
)
def test_the_head_of_each_task_is_copied(build, head):
    arguments = (3,) if build is build_tagger else ()
    encoders = [build_encoder(tiny.CONFIG, pooler="pooler" in head) for _ in range(2)]
    student, teacher = (build(encoder, *arguments) for encoder in encoders)
    randomize(teacher)
    copied = initialize_from_teacher(student, teacher, (0,))
    assert copied.keys() == EMBEDDINGS | head | {"block_0"}
    assert_copied(student, teacher, copied)
    # Nothing is left that the student does not have from its teacher.
    np.testing.assert_equal(student.get_weights(), teacher.get_weights())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 16}, "token_embedding must have weights like the teacher's"),
        ({"vocabulary_size": 49}, "token_embedding must have weights like the teacher's"),
        ({"num_heads": 4}, "num_heads must be 2 as in the teacher, got 4"),
        ({"num_heads": 1, "attention_size": 16}, "num_heads must be 2 as in the teacher, got 1"),
        ({"max_length": 32}, "position_embedding must have weights"),
        ({"intermediate_size": 32}, "block_0 must have weights like the teacher's block_2"),
    ],
)
def test_a_student_that_does_not_fit_is_refused_and_left_alone(changes, message):
    student = tiny.build(**changes)
    before = student.get_weights()
    with pytest.raises(ValueError, match=message):
        initialize_from_teacher(student, tiny.build(num_layers=4), (2,))
    np.testing.assert_equal(student.get_weights(), before)


def test_layers_labels_and_parts_that_the_teacher_has_not_are_refused():
    student, teacher = tiny.build(num_layers=2), tiny.build(num_layers=4)
    before = student.get_weights()
    for layers in ((0,), (0, 1, 2), (0, 4), (-1, 0), ()):
        with pytest.raises(ValueError, match=r"layers must be 2 of the teacher's layers 0 to 3, got \["):
            initialize_from_teacher(student, teacher, layers)
    np.testing.assert_equal(student.get_weights(), before)
    student, teacher = (build_tagger(build_encoder(tiny.CONFIG), labels) for labels in (2, 3))
    with pytest.raises(ValueError, match="classifier must have weights like the teacher's classifier"):
        initialize_from_teacher(student, teacher, (0,))
    importance = [Importance(np.ones(2), np.ones(64))]
    with pytest.raises(ValueError, match="at most 64 heads or units of a teacher's layer, got 65"):
        initialize_from_teacher(tiny.build(intermediate_size=65), tiny.build(), (0,), importance=importance)


def test_a_student_without_parts_that_do_nothing_is_its_teacher():
    teacher = tiny.build(num_layers=2, num_heads=4)
    randomize(teacher)
    random = np.random.default_rng(0)
    idle = {}
    for block in teacher.layers:
        if block.name.startswith("block_"):
            heads, units = random.permutation(4)[:2], random.permutation(64)[:40]
            idle[block.name] = heads, units
            silence(block.attention.output_projection, (heads[:, None] * 8 + np.arange(8)).reshape(-1))
            silence(block.feed_forward.output_projection, units)
    importance = [Importance(*(weigh(*pair) for pair in zip(idle[f"block_{n}"], (4, 64), strict=True))) for n in (0, 1)]
    student = tiny.build(num_layers=2, num_heads=2, attention_size=16, intermediate_size=24)
    initialize_from_teacher(student, teacher, (0, 1), importance=importance)
    rows, _ = tiny.make_rows(4)
    np.testing.assert_allclose(*(model(rows) for model in (student, teacher)), atol=1e-5)
    block = student.get_layer("block_1")
    assert block.attention.query.kernel.shape == (32, 16)
    assert block.attention.output_projection.kernel.shape == (16, 32)
    assert block.feed_forward.intermediate.kernel.shape == (32, 24)


def silence(dense, rows):
    kernel = dense.kernel.numpy()
    kernel[rows] = 0
    dense.kernel.assign(kernel)


def weigh(idle, count):
    values = np.arange(1.0, count + 1)
    values[idle] = 0
    return values


def test_a_table_of_few_dimensions_is_kept_whole_by_a_rank():
    teacher = tiny.build()
    randomize(teacher)
    table = teacher.get_layer("token_embedding").embeddings
    thin = np.random.default_rng(0).normal(size=(2, 50, 6)).astype("float32")
    table.assign(thin[0] @ thin[1, :32].T)
    student = tiny.build(embedding_rank=6)
    copied = initialize_from_teacher(student, teacher, (0,))
    assert "token_embedding" in copied
    rows, _ = tiny.make_rows(4)
    np.testing.assert_allclose(*(model(rows) for model in (student, teacher)), atol=1e-4)
    assert student.count_params() == teacher.count_params() - 50 * 32 + 50 * 6 + 6 * 32
    teacher, student = (tiny.build(embedding_rank=6) for _ in range(2))
    randomize(teacher)
    initialize_from_teacher(student, teacher, (0,))
    np.testing.assert_equal(student.get_weights(), teacher.get_weights())


def test_factors_have_the_least_error_and_weights_say_whose():
    matrix = np.random.default_rng(0).normal(size=(40, 12)).astype("float32")
    table, factor = factorize(matrix, 5)
    left, values, right = np.linalg.svd(matrix.astype("float64"), full_matrices=False)
    np.testing.assert_allclose(table @ factor, (left[:, :5] * values[:5]) @ right[:5], atol=1e-5)
    counts = np.zeros(40)
    counts[:4] = 1e6
    weighted = np.square(np.matmul(*factorize(matrix, 5, counts)) - matrix).sum(axis=1)
    assert weighted[:4].max() < 1e-6 < np.square(table @ factor - matrix).sum(axis=1)[:4].min()
