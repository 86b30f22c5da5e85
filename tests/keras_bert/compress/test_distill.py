import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import entropy

from keras_bert.compress.students import initialize_from_teacher
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.divergence import divergence
from keras_bert.options.distillation import Distillation
from tests.keras_bert.compress import tiny


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_divergence_is_t_squared_kl_of_the_teacher_from_the_student(temperature):
    random = np.random.default_rng(0)
    student, teacher = random.normal(size=(2, 4, 3)).astype("float32") * 3
    wanted = entropy(
        np.exp(log_softmax(teacher / temperature, axis=1)), np.exp(log_softmax(student / temperature, axis=1)), axis=1
    )
    np.testing.assert_allclose(divergence(student, teacher, temperature), temperature**2 * wanted, rtol=1e-4)


def test_the_same_logits_have_no_divergence_and_huge_ones_no_nan():
    logits = np.array([[1e4, -1e4], [3.0, 3.0]], "float32")
    np.testing.assert_allclose(divergence(logits, logits, 2.0), 0.0, atol=1e-6)
    assert np.isfinite(divergence(logits[:, ::-1], logits, 2.0)).all()


def test_the_objective_mixes_both_losses():
    student, teacher = tiny.build(), tiny.build()
    teacher.get_layer("classifier").bias.assign([2.0, -1.0])
    rows, labels = tiny.make_rows(8)
    batch = {**rows, "label": labels}
    losses = {}
    for hard in (0.0, 0.25, 1.0):
        objective = DistillationObjective(teacher, Distillation(hard_weight=hard))
        total, weight = objective(student, batch, False)["loss"]
        assert float(weight) == float(objective.weights(batch)["loss"]) == 8
        losses[hard] = float(total) / 8
    assert losses[0.25] == pytest.approx(0.75 * losses[0.0] + 0.25 * losses[1.0], rel=1e-5)
    logits, wanted = student(rows), teacher(rows)
    assert losses[0.0] == pytest.approx(float(np.mean(divergence(logits, wanted, 2.0))), rel=1e-5)
    assert losses[1.0] == pytest.approx(-log_softmax(np.asarray(logits), axis=1)[np.arange(8), labels].mean(), rel=1e-5)


def test_another_teacher_or_setting_is_another_objective():
    teacher, other = tiny.build(), tiny.build()
    other.set_weights(teacher.get_weights())
    known = DistillationObjective(teacher, Distillation()).identity()
    assert known["class"] == "DistillationObjective"
    assert DistillationObjective(other, Distillation()).identity() == known
    changed = DistillationObjective(other, Distillation(temperature=3.0)).identity()
    assert changed == {**known, "temperature": 3.0}
    other.get_layer("classifier").bias.assign([2.0, -1.0])
    assert DistillationObjective(other, Distillation()).identity()["teacher"] != known["teacher"]


def test_a_student_takes_every_kth_block():
    teacher, student = tiny.build(num_layers=4), tiny.build(num_layers=2, max_length=8)
    for weight in teacher.weights:
        weight.assign(weight + np.random.default_rng(1).normal(size=weight.shape))
    copied = initialize_from_teacher(student, teacher)
    assert copied["block_0"] == "block_0"
    assert copied["block_1"] == "block_2"
    assert {"token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "pooler"} <= copied.keys()
    for name, source in copied.items():
        for ours, theirs in zip(student.get_layer(name).weights, teacher.get_layer(source).weights, strict=True):
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy()[: ours.shape[0]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 3}, "the teacher's 4 blocks must be a multiple of the student's, got 3"),
        ({"hidden_size": 16}, "token_embedding must have weights like the teacher's"),
        ({"vocabulary_size": 49}, "token_embedding must have weights like the teacher's"),
        ({"num_heads": 4}, "block_0 must have 2 heads like the teacher's, got 4"),
        ({"max_length": 32}, "position_embedding must have weights"),
    ],
)
def test_a_student_that_does_not_fit_is_refused_and_left_alone(changes, message):
    student = tiny.build(**changes)
    before = [weight.numpy() for weight in student.weights]
    with pytest.raises(ValueError, match=message):
        initialize_from_teacher(student, tiny.build(num_layers=4))
    for weight, was in zip(student.weights, before, strict=True):
        np.testing.assert_array_equal(weight.numpy(), was)
