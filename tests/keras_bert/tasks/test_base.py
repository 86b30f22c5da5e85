import json
from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.tasks.base import pad_rows
from keras_bert.tasks.checks import check_labels, label_numbers
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer


@pytest.fixture(scope="module")
def task():
    return Classification.build(make_encoder(), make_tokenizer(), labels=["no", "yes"], max_length=30)


def test_answers_stand_in_the_order_of_the_texts_whatever_the_batches(task, monkeypatch):
    texts = [" ".join(["good"] * (1 + 7 * n % 23) + ["bad"] * (n % 3)) for n in range(20)]
    alone = [next(iter(task.outputs([text]))) for text in texts]
    for batch_size in (1, 3, 7, 20, 50):
        np.testing.assert_allclose(list(task.outputs(texts, batch_size=batch_size)), alone, atol=1e-5)
    texts = ["good film", "bad", "a very bad film", "film", "good good"]
    expected = list(task.outputs(texts))
    monkeypatch.setattr("keras_bert.tasks.base.ROWS_AT_ONCE", 2)
    np.testing.assert_allclose(list(task.outputs(texts)), expected, atol=1e-6)
    assert len(list(task.outputs(texts, texts))) == 5


def test_tensorflow_does_not_warn_of_the_few_shapes_of_batches(task):
    task.predict(["film"])
    assert task.model.predict_function._omit_frequent_tracing_warning is True


def test_further_inputs_go_along_uncut():
    task = Pretraining.build(make_encoder(), make_tokenizer(), max_length=30)
    inputs = {**task.encode(["a film", "film"]), "mask_positions": np.zeros((2, 20), "int32")}
    assert [output["masked_tokens"].shape for output in task.forward(inputs)] == [(20, 12), (20, 12)]


def test_the_encoder_of_a_task_shares_its_weights_and_lengths_of_batches_are_few(task, monkeypatch):
    assert {id(weight) for weight in task.encoder.weights} < {id(weight) for weight in task.model.weights}
    widths = []
    predict = task.model.predict_on_batch
    monkeypatch.setattr(
        task.model, "predict_on_batch", lambda batch: widths.append(batch["token_ids"].shape[1]) or predict(batch)
    )
    list(task.outputs([" ".join(["film"] * n) for n in range(1, 40)], batch_size=2))
    assert set(widths) == {16, 32}  # 30 tokens at most, on 40 positions


def test_a_model_of_another_task_or_vocabulary_is_refused(task):
    for other in (Embedding, Pretraining, QuestionAnswering, Regression):
        with pytest.raises(ValueError, match=rf"{other.__name__}\.model must .*, got"):
            other(task.model, task.tokenizer, max_length=30)
    with pytest.raises(ValueError, match="encoder must be made by build_encoder or a task's `encoder`"):
        Classification.build(task.model, task.tokenizer, labels=["no", "yes"])
    with pytest.raises(ValueError, match=r"tokenizer must have as many vocabulary entries as .* has rows, 12, got 6"):
        Classification.build(make_encoder(), PlainTokenizer(["a"]), labels=["no", "yes"])
    for length in (2, 41):
        rule = f"max_length must be between 3 and the model's 40 positions, got {length}"
        with pytest.raises(ValueError, match=rule):
            Classification.build(make_encoder(), make_tokenizer(), labels=["no", "yes"], max_length=length)


def test_labels_and_padded_rows():
    assert check_labels("X", ["b", "a"], 2) == ("b", "a")
    with pytest.raises(ValueError, match=r"X.labels must be as many as the model's outputs \(3\), got 2"):
        check_labels("X", ["b", "a"], 3)
    with pytest.raises(ValueError, match=r"X.labels must differ from one another, got \['a', 'a'\]"):
        check_labels("X", ["a", "a"], 2)
    np.testing.assert_array_equal(label_numbers(["a", "b", "a"], ["b", "a"]), [1, 0, 1])
    with pytest.raises(ValueError, match=r"labels\[1\] must be one of \['b', 'a'\], got 'c'"):
        label_numbers(["a", "c"], ["b", "a"])
    np.testing.assert_array_equal(pad_rows([[1, 2], [], [3]], 9), [[1, 2], [9, 9], [3, 9]])
    assert pad_rows([], 0).shape == (0, 0)


def test_tokens_are_counted_before_the_cut():
    task = Classification.build(make_encoder(), make_tokenizer(), labels=["no", "yes"], max_length=8)
    texts, pairs = ["a film", "", "very " * 20], ["good", "bad .", "a"]
    assert task.count_tokens(texts) == [4, 2, 22]
    assert task.count_tokens(texts, pairs) == [6, 5, 24]
    for second in (None, pairs):
        cut = task.encode(texts, second)["padding_mask"].sum(axis=1)
        assert cut.tolist() == [min(count, 8) for count in task.count_tokens(texts, second)]
    with pytest.raises(ValueError, match=r"pairs must be as many as texts \(3\), got 1"):
        task.count_tokens(texts, ["a"])


class Runtime:
    """Replaces a model: answers by the number of tokens."""

    name, max_length, output = "runtime", 12, SimpleNamespace(shape=(None, 2))

    def predict_on_batch(self, batch):
        tokens = batch["padding_mask"].sum(axis=1)
        return np.stack([tokens == 3, tokens != 3], axis=1) * 5.0


def test_an_exported_file_may_stand_in_the_place_of_the_model():
    # Its vocabulary is not known, and so not checked.
    task = Classification(Runtime(), PlainTokenizer(["a"]), labels=["one", "more"], max_length=12)
    assert task.positions == 12
    assert [answer.label for answer in task.predict(["a", "a a", "a " * 30])] == ["one", "more", "more"]
    with pytest.raises(ValueError, match="max_length must be between 3 and the model's 12 positions, got 13"):
        Classification(Runtime(), PlainTokenizer(["a"]), labels=["one", "more"], max_length=13)
    with pytest.raises(ValueError, match=r"labels must be as many as the model's outputs \(2\), got 1"):
        Classification(Runtime(), PlainTokenizer(["a"]), labels=["one"], max_length=12)


def test_task_json(task, tmp_path):
    messages = []
    task.tokenizer.save = messages.append
    task.save(tmp_path / "new" / "folder")
    expected = {"task": "classification", "labels": ["no", "yes"], "max_length": 30}
    assert json.loads((tmp_path / "new" / "folder" / "task.json").read_text()) == expected
    assert sorted(file.name for file in (tmp_path / "new" / "folder").iterdir()) == ["model.keras", "task.json"]
    task.save_settings(tmp_path)
    assert json.loads((tmp_path / "task.json").read_text()) == expected
    assert not (tmp_path / "model.keras").exists()
    assert messages[1] == tmp_path

    def fail(folder):
        raise OSError("no space left")

    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    task.tokenizer.save = fail
    with pytest.raises(OSError, match="no space"):
        task.save(tmp_path)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
