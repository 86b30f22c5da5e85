"""What is asked of all tasks alike."""

import inspect

import keras
import numpy as np
import pytest

from keras_bert.tasks.registry import TASKS
from tests.keras_bert.objectives import kinds
from tests.keras_bert.objectives.kinds import KINDS
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer

# A task that is made of others has tests of its own.
SINGLE_TASKS = [name for name, kind in TASKS.items() if "tasks" not in inspect.signature(kind.build).parameters]
VECTORS = ("embedding", "retrieval")
LABELS = {"labels": ["O", "B-film", "I-film"]}
SETTINGS = {
    "classification": LABELS,
    "embedding": {"normalize": False},
    "multi_label": {**LABELS, "thresholds": [0.25, None, 0.5], "label_precision": 0.9},
    "pretraining": {},
    "question_answering": {"stride": 5, "max_query_length": 6, "null_threshold": 1.5},
    "regression": {},
    "replaced_tokens": {},
    "reranking": {},
    "retrieval": {"prompts": {"query": "a "}, "contrast": {"dimensions": [4]}},
    "token_classification": LABELS,
}


def build(name, encoder, **changes):
    return TASKS[name].build(encoder, make_tokenizer(), max_length=30, **{**SETTINGS.get(name, {}), **changes})


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("classification", {"pooling": "mean"}),
        ("classification", {"pooling": "cls"}),
        ("embedding", {"pooling": "cls"}),
        ("embedding", {"pooling": "mean"}),
        ("multi_label", {"pooling": "mean"}),
        ("embedding", {"pooling": "mean", "dimension": 6}),
        ("pretraining", {"next_sentence": True, "mask_decoder": False}),
        ("pretraining", {"next_sentence": False, "mask_decoder": False}),
        ("question_answering", {}),
        ("regression", {"pooling": "mean", "mean": 5000.0, "standard_deviation": 1000.0}),
        ("replaced_tokens", {}),
        ("reranking", {"pooling": "mean", "mean": 0.0, "standard_deviation": 1.0}),
        ("retrieval", {"pooling": "mean"}),
        ("token_classification", {}),
    ],
)
def test_the_same_task_on_another_encoder(name, head):
    task, encoder = build(name, make_encoder(num_layers=1), **head), make_encoder(hidden_size=8, num_layers=1)
    assert task.head() == head
    task.pairs = True
    again = task.rebuilt(encoder)
    assert type(again) is type(task)
    assert again.pairs is True, "a student reads what its teacher reads"
    assert (again.settings(), again.head()) == (task.settings(), head)
    shared = {id(weight) for weight in encoder.weights}
    assert {id(weight) for weight in again.encoder.weights} <= shared
    assert [weight.path for weight in again.model.weights] == [weight.path for weight in task.model.weights]
    new = [weight for weight in again.model.weights if id(weight) not in shared]
    assert not {id(weight) for weight in new} & {id(weight) for weight in task.model.weights}


@pytest.mark.parametrize("name", SINGLE_TASKS)
def test_what_a_task_is_known_to_do(name):
    kind = TASKS[name]
    assert kind.name == name
    assert kind.needs_pooling == ("pooling" in inspect.signature(kind.build).parameters)
    assert kind.truncates == (name not in ("question_answering", "token_classification"))
    if name in KINDS:
        measured = KINDS[name].objective(kinds.build(name), KINDS[name].batch, training=False)
        assert {name.removeprefix("validation_") for name in kind.selected_by} <= set(measured)


@pytest.mark.parametrize("name", KINDS)
def test_the_network_has_the_one_output_that_the_objective_takes(name):
    task = build(name, make_encoder(num_layers=1))
    pairs = ["film", "a film"] if name == "reranking" else None
    network, inputs = task.network(), task.encode(["a good film", "bad"], pairs)
    output = network(inputs)
    whole = task.model(inputs)
    np.testing.assert_array_equal(output, whole["embedding"] if name in VECTORS else whole)
    assert {id(weight) for weight in network.weights} <= {id(weight) for weight in task.model.weights}
    assert task.output_name == ("embedding" if name in VECTORS else "logits")


@pytest.mark.parametrize("name", KINDS)
def test_the_objective_of_a_task(name):
    task = build(name, make_encoder(num_layers=1))
    assert type(task.objective()) is type(KINDS[name].objective)
    if name in ("classification", "multi_label", "token_classification"):
        assert task.objective((1.0, 2.0, 3.0)).identity()["class_weights"] == (1.0, 2.0, 3.0)
        return
    with pytest.raises(ValueError, match=r"class_weights must be None for a task without labels, got \(1.0, 2.0\)"):
        task.objective((1.0, 2.0))


OUTPUTS = {
    "classification": (kinds.ROWS, 3),
    "multi_label": (kinds.ROWS, 3),
    "regression": (kinds.ROWS, 1),
    "token_classification": (kinds.ROWS, kinds.LENGTH, 3),
    "question_answering": (kinds.ROWS, kinds.LENGTH, 2),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_loss_of_keras_is_the_mean_of_the_objective_s(name):
    task, batch = build(name, make_encoder(num_layers=1)), KINDS[name].batch
    outputs, labels, objective = kinds.random_outputs(*OUTPUTS[name])[0], batch[task.label_name], task.objective()
    losses, weights = (np.asarray(part) for part in (objective.losses(outputs, batch), objective.loss_weights(batch)))
    loss = task.loss()(labels[:, None] if name == "regression" else labels, outputs)
    assert np.mean(loss) == pytest.approx((losses * weights).sum() / weights.sum(), rel=1e-5)


@pytest.mark.parametrize("name", ["pretraining", "replaced_tokens"])
def test_pretraining_has_an_objective_of_its_own(name):
    rule = f"{name} has no labelled rows to train on; see keras_bert.objectives.{name}"
    with pytest.raises(ValueError, match=rule):
        build(name, make_encoder(num_layers=1)).objective()
    with pytest.raises(ValueError, match=f"must be fine-tuned to answer, got a model for {name}$"):
        build(name, make_encoder(num_layers=1)).answer_fields(["a film"])


LOGITS = np.array([[[2.0, 1.0], [0.0, 3.0], [5.0, 4.0]], [[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]]])


def test_classifiers_agree_where_they_choose_the_same_labels():
    task = build("classification", make_encoder(num_layers=1))
    agreement = task.agreement(LOGITS[:, 0], LOGITS[:, 0] + [[0.0, 0.9], [0.0, -1.1]], None)
    assert agreement.tolist() == [1.0, 0.0]
    task = build("multi_label", make_encoder(num_layers=1), thresholds=[0.5, 0.75, None])
    reference, candidate = np.array([[1.0, 1.0, 9.0], [1.0, 2.0, 9.0]]), np.array([[0.1, 0.0, -9.0], [-0.1, 1.0, 9.0]])
    np.testing.assert_allclose(task.agreement(reference, candidate, None), [1.0, 1 / 3])


def test_outputs_of_tokens_agree_as_far_as_their_tokens_do():
    task = build("token_classification", make_encoder(num_layers=1))
    other = LOGITS.copy()
    other[0, 1], other[0, 2], other[1, 0] = (4.0, 0.0), (0.0, 9.0), (9.0, 0.0)
    mask = np.array([[1, 1, 0], [1, 1, 1]])
    assert task.agreement(LOGITS, other, mask).tolist() == pytest.approx([1 / 2, 2 / 3])
    assert task.agreement(LOGITS, LOGITS, mask).tolist() == [1.0, 1.0]
    assert task.agreement(LOGITS, LOGITS, np.zeros((2, 3), int)).tolist() == [0.0, 0.0]
    task = build("replaced_tokens", make_encoder(num_layers=1))
    reference, candidate = np.array([[2.0, -1.0, 3.0], [-1.0, 2.0, -2.0]]), np.array([[1.0, 1.0, -3.0], [-2, 0.5, -9]])
    assert task.agreement(reference, candidate, np.array([[1, 1, 0], [1, 1, 1]])).tolist() == [0.5, 1.0]


def test_answers_agree_where_both_ends_do_and_padding_is_no_answer():
    task, mask = build("question_answering", make_encoder(num_layers=1)), np.array([[1, 1, 0], [1, 1, 1]])
    assert task.agreement(LOGITS, LOGITS, mask).tolist() == [1.0, 1.0]
    other = LOGITS.copy()
    other[1, 0, 1] = 0.5
    assert task.agreement(LOGITS, other, mask).tolist() == [1.0, 0.0]
    # A file for LiteRT has zeros at padding, which are more than what all its own tokens have.
    below, padded = LOGITS - 9, LOGITS - 9
    below[0, 2], padded[0, 2] = -120.0, 0.0
    assert task.agreement(below, padded, mask).tolist() == [1.0, 1.0]


def test_numbers_and_vectors_agree_by_their_distances():
    task = build("regression", make_encoder(num_layers=1))
    reference, candidate = np.array([[1.0], [5.0], [3.0]]), np.array([[1.0], [4.0], [9.0]])
    np.testing.assert_allclose(task.agreement(reference, candidate, None), [1.0, 0.75, 0.0])
    np.testing.assert_allclose(task.agreement(np.ones((2, 1)), np.array([[1.0], [1.1]]), None), [1.0, 0.0])
    task = build("embedding", make_encoder(num_layers=1))
    reference, candidate = np.array([[3.0, 4.0], [1.0, 0.0], [1.0, 0.0]]), np.array([[6.0, 8.0], [1.0, 1.0], [-1.0, 0]])
    np.testing.assert_allclose(task.agreement(reference, candidate, None), [1.0, 0.5**0.5, 0.0], atol=1e-6)


@pytest.mark.parametrize("name", SETTINGS)
def test_texts_are_checked_as_a_whole_before_anything_is_computed(name, monkeypatch):
    task = build(name, make_encoder(num_layers=1))
    monkeypatch.setattr("keras_bert.tasks.base.ROWS_AT_ONCE", 2)
    monkeypatch.setattr(task.model, "predict_on_batch", None)
    first = {"question_answering": "questions"}.get(name, "texts")
    takes_pairs = len({"pairs", "contexts", "passages"} & set(inspect.signature(task.predict).parameters)) == 1
    for texts, pairs, error, message in (
        ("film", ["a"], TypeError, f"{first} must be a list of strings, got 'film'"),
        (["a", "b", "c", 5], list("defg"), TypeError, rf"{first}\[3\] must be a string, got 5"),
        ([], [], ValueError, f"{first} must hold at least one text, got none"),
        (["a", "b"], ["c", "d", "e"], ValueError, rf"\w+ must be as many as {first} \(2\), got 3"),
    ):
        if takes_pairs or error is TypeError or not texts:
            with pytest.raises(error, match=message):
                task.predict(texts, *([pairs] if takes_pairs else []))
    if name not in ("question_answering", "token_classification", "replaced_tokens"):  # they ask for offsets first
        with pytest.raises(ValueError, match=rf"{type(task).__name__}\.batch_size must be at least 1, got 0"):
            task.predict(["[MASK]"], *([["film"]] if task.second_text == "required" else []), batch_size=0)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_compiled_task_is_ready_for_its_first_step(name):
    task, optimizer = build(name, make_encoder()), keras.optimizers.SGD(0.1, momentum=0.9)
    task.compile(optimizer)
    trained = task.similarity if name in VECTORS else task.model
    assert trained.optimizer is optimizer
    # The number of the step and the learning rate, and a momentum of each weight.
    assert len(optimizer.variables) == 2 + len(trained.trainable_variables)
