"""The way of a notebook user: fit, distill, prune, quantize, export and evaluate, with rows in memory."""

from pathlib import Path

import keras
import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

import keras_bert
from keras_bert.compress.prune import Masks
from keras_bert.data.array_batches import ArrayBatches
from keras_bert.export import task_export
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.options.training import Training
from keras_bert.tasks.base import Task
from keras_bert.training import fit as fitting
from tests.keras_bert.export.word_tasks import make_encoder, make_task
from tests.samples import long_but

TEXTS = ["great film", "a dull plot", "the film", "un don great plot the film", "dull", "plot 2"]
LABELS = ["good", "bad", "neither", "good", "bad", "good"]
CONTEXTS = ["the film , great .", "a plot", "film", "2000 film", "dull", "great"]
ROWS = {
    "classification": (TEXTS, LABELS),
    "multi_label": (TEXTS, [["good"], [], ["bad", "neither"], ["good"], ["bad"], []]),
    "regression": (TEXTS, [1.0, -2.0, 0.5, 3.0, -1.0, 0.0]),
    "token_classification": ([["the", "film"], ["a", "plot"]] * 3, [["O", "B-film"], ["O", "O"]] * 3),
    "question_answering": (TEXTS, CONTEXTS, [("film", 4), None, ("film", 0), ("2000", 0), None, ("great", 0)]),
    "embedding": (TEXTS, CONTEXTS, [1.0, 0.0, -1.0, 0.5, 0.2, 0.3]),
    "reranking": (TEXTS[:3] * 2, CONTEXTS, [1.0, 2.0, 0.0, 0.0, 1.0, 2.0]),
    "retrieval": (TEXTS, CONTEXTS),
}
SMALL = {"batch_size": 3, "xla": "off", "precision": "float32", "verbose": 0}


def new_task(name: str) -> Task:
    if name not in ("reranking", "retrieval"):
        return make_task(name)
    base = make_task("embedding")
    return keras_bert.TASKS[name].build(base.encoder, base.tokenizer, max_length=16)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", long_but({"classification", "token_classification", "retrieval"}, ROWS))
def test_every_task_is_fitted_distilled_pruned_quantized_and_exported(name: str, tmp_path: Path) -> None:
    task, rows = new_task(name), ROWS[name]
    before = keras_bert.evaluate(task, *rows)["loss"]
    history = task.fit(*rows, epochs=8, learning_rate=1e-2, **SMALL)
    assert keras_bert.evaluate(task, *rows)["loss"] < before
    assert history[-1]["step"] == 8 * 6 / 3

    small = keras_bert.distill(task, *rows, layers=[1], epochs=1, **SMALL)
    assert len(small.encoder.layers) < len(task.encoder.layers)

    keras_bert.prune(small, *rows, **SMALL)
    assert Masks(small.network()).sparsity() == pytest.approx(0.5, abs=0.01)
    keras_bert.quantize(small, *rows, **SMALL)
    assert Masks(small.network()).sparsity() >= 0.49, "quantization must keep zeros"

    small.export(tmp_path / "small.tflite", lengths=[16])
    scores, expected = (
        keras_bert.evaluate(model, *rows) for model in (keras_bert.load(tmp_path / "small.tflite"), small)
    )
    assert scores.keys() == expected.keys() - {"loss"} != set()
    for metric, score in scores.items():
        assert score == pytest.approx(expected[metric], rel=0.3, abs=0.4)


def test_triplets_need_negatives_that_rows_in_memory_do_not_have() -> None:
    base = make_task("embedding")
    task = keras_bert.TASKS["retrieval"].build(
        base.encoder, base.tokenizer, contrast={"loss": "triplet"}, max_length=16
    )
    rule = "be 'multiple_negatives' for rows in memory, which have no negatives"
    for train in (keras_bert.fit, keras_bert.prune):
        with pytest.raises(ValueError, match=rf"^Contrast\.loss must {rule}, got 'triplet'$"):
            train(task, *ROWS["retrieval"], **SMALL)
    keras_bert.quantize(task, *ROWS["retrieval"], post_training=True)
    assert task.quantization is not None


# Texts, and a teacher's answers in the order of the labels bad, good and neither; of numbers or cosines.
SHARES = np.array(
    [[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.2, 0.2, 0.6], [0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.3, 0.6, 0.1]]
)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("name", "epochs"), [("classification", 16), ("multi_label", 12), ("regression", 10), ("embedding", 6)]
)
def test_a_student_learns_from_probabilities_without_a_teacher(name: str, epochs: int) -> None:
    keras.utils.set_random_seed(1)
    task = make_task(name, num_layers=1, dropout=0.0, attention_dropout=0.0)
    answers = SHARES[:, 0] if name in ("regression", "embedding") else SHARES
    texts = ROWS[name][:2] if name == "embedding" else ROWS[name][:1]
    training = {**SMALL, "batch_size": 6, "learning_rate": 2e-2, "epochs": epochs}
    before = [weight.numpy() for weight in task.model.weights]
    small = keras_bert.distill(task, *texts, probabilities=answers, layers=[0], **training)
    for weight, was in zip(task.model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, was)
    task.fit(*texts, probabilities=answers, **training)
    for model in (small, task):
        objective = model.objective()
        rows = fitting.read_rows_with_answers(model, texts, None, answers)
        outputs = objective.run(model.network(), rows, training=False)
        distances = objective.distances(outputs, rows["teacher_answers"], rows, 1.0)
        assert float(np.mean(distances)) < 0.15, "the model answers as the teacher; it begins at 0.23 or more"


@pytest.mark.usefixtures("eager")
def test_named_columns_of_probabilities_may_have_any_order() -> None:
    task = make_task("classification")
    columns = dict(zip(task.labels, SHARES.T, strict=True))
    table = pa.table({label: columns[label] for label in reversed(task.labels)})
    for answers in (table, SHARES):
        rows = fitting.read_rows_with_answers(task, (TEXTS,), None, answers)
        assert rows["label"].tolist() == SHARES.argmax(1).tolist()
    with pytest.raises(ValueError, match=r"probabilities must have columns named as the labels.*got \['p', 'good'"):
        task.fit(TEXTS, probabilities=table.rename_columns(["p", "good", "bad"]))


@pytest.mark.usefixtures("eager")
def test_rows_with_labels_or_answers_or_both() -> None:
    task = make_task("classification")
    some = np.where(np.arange(6)[:, None] < 2, np.nan, SHARES)
    rows = fitting.read_rows_with_answers(task, (TEXTS, LABELS), None, some)
    assert rows["has_answers"].tolist() == [0, 0, 1, 1, 1, 1]
    assert rows["has_label"].tolist() == [1] * 6
    np.testing.assert_allclose(np.exp(rows["teacher_answers"][2:]), np.maximum(SHARES[2:], 1e-6), rtol=1e-5)
    labels = [*LABELS[:3], None, None, None]
    mixed = fitting.read_rows_with_answers(task, (TEXTS, labels), None, some)
    assert mixed["has_label"].tolist() == [1, 1, 1, 0, 0, 0]
    assert mixed["label"].tolist() == [*rows["label"][:3], *SHARES[3:].argmax(1)]
    np.testing.assert_array_equal(mixed["token_ids"], rows["token_ids"])
    with pytest.raises(ValueError, match="labels"):
        task.fit(TEXTS, labels[:4], probabilities=some)
    for answers, message in (
        (some, "be finite in all rows where there are no labels, got 'NaN in row 0'"),
        (SHARES[:5], r"be 3 numbers for each of 6 rows, got \(5, 3\)"),
        (SHARES[:, :2], "add up to 1 in each row"),
        (2 * SHARES, "each from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=rf"probabilities must .*{message}"):
            task.fit(TEXTS, probabilities=answers)
    # The labels of a regression replace some of the answers, but only as labels.
    numbers = fitting.read_rows_with_answers(
        make_task("regression"), (TEXTS[:3], [1.0, None, 3.0]), None, [10.0, 20.0, np.nan]
    )
    assert numbers["value"].tolist() == [1.0, 20.0, 3.0]
    assert numbers["teacher_answers"].tolist() == [[10.0], [20.0], [0.0]]


@pytest.mark.usefixtures("eager")
def test_texts_alone_are_labelled_by_the_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = make_task("classification")
    shares = []
    measure = DistillationObjective.measure

    def spy(self, outputs, target, batch):
        shares.append((self._distillation.hard_weight, np.asarray(batch["label"]).tolist()))
        return measure(self, outputs, target, batch)

    monkeypatch.setattr(DistillationObjective, "measure", spy)
    keras_bert.distill(teacher, TEXTS, layers=[0], steps=2, **SMALL)
    likeliest = [teacher.labels.index(answer.label) for answer in teacher.predict(TEXTS)]
    assert {share for share, _ in shares} == {0.0}
    assert sorted(number for _, batch in shares for number in batch) == sorted(likeliest)


def test_columns_of_numpy_tf_data_and_pandas_are_those_of_lists() -> None:
    task = make_task("classification")
    expected = task.training_rows(*fitting.columns((TEXTS, LABELS)))
    for data in ((np.array(TEXTS), np.array(LABELS)), (tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)),)):
        for name, array in task.training_rows(*fitting.columns(data)).items():
            np.testing.assert_array_equal(array, expected[name])
    pandas = pytest.importorskip("pandas")
    task = make_task("classification")
    series = pandas.Series(TEXTS, index=range(10, 16)), pandas.Series(LABELS)
    assert task.training_rows(*series)["label"].tolist() == task.training_rows(TEXTS, LABELS)["label"].tolist()


@pytest.mark.usefixtures("eager")
def test_the_validation_split_is_the_last_rows_and_chooses_the_weights() -> None:
    task = make_task("classification")
    history = task.fit(TEXTS, LABELS, epochs=3, validation_split=0.34, learning_rate=0.05, **SMALL)
    best = max(entry["validation_accuracy"] for entry in history if "validation_accuracy" in entry)
    assert keras_bert.evaluate(task, TEXTS[4:], LABELS[4:])["accuracy"] == best
    with pytest.raises(ValueError, match=r"^fit\.validation_split must leave rows on both sides of 6, got 0\.01$"):
        task.fit(TEXTS, LABELS, validation_split=0.01)


def test_an_interrupted_quantization_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    task = make_task("classification")
    weights = task.model.get_weights()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("keras_bert.compress.task_compression.train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        keras_bert.quantize(task, TEXTS, LABELS)
    assert task.quantization is None
    for weight, earlier in zip(task.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(weight, earlier)


def test_static_recipes_need_texts_for_the_export_and_the_file_is_whole_or_not_there(tmp_path: Path) -> None:
    task = make_task("classification")
    keras_bert.quantize(task, TEXTS, LABELS, post_training=True, recipe="static_wi8_ai8")
    with pytest.raises(ValueError, match=r"^export\.texts must hold texts .* static_wi8_ai8, got \[\]$"):
        task.export(tmp_path / "model.tflite")
    with pytest.raises(
        ValueError, match=r"^export\.path must end with \.tflite, \.onnx or saved_model\.pb, got .*model\.pt'$"
    ):
        task.export(tmp_path / "model.pt")
    assert list(tmp_path.iterdir()) == []
    task.export(tmp_path / "model.tflite", TEXTS)
    assert keras_bert.load(tmp_path / "model.tflite").labels == task.labels


def test_texts_of_an_export_get_the_prompt_of_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, compared = make_task("embedding"), []
    monkeypatch.setattr(task_export, "compare_answers", lambda *given: compared.append(given[-1].features))
    task = type(base).build(base.encoder, base.tokenizer, max_length=16, prompts={"query": "the "})
    task.export(tmp_path / "model.onnx", ["film", "plot"])
    np.testing.assert_array_equal(compared[0]["token_ids"], task.encode(["the film", "the plot"])["token_ids"])


def test_a_file_is_scored_but_not_trained_and_stands_beside_a_saved_model(tmp_path: Path) -> None:
    task = make_task("classification")
    task.export(tmp_path / "model.onnx")
    loaded = keras_bert.load(tmp_path / "model.onnx")
    scores = keras_bert.evaluate(task, TEXTS, LABELS)
    assert keras_bert.evaluate(loaded, TEXTS, LABELS) == {"accuracy": scores["accuracy"]}
    for change in (keras_bert.fit, keras_bert.distill, keras_bert.prune, keras_bert.quantize):
        with pytest.raises(ValueError, match=r"^Classification\.model must be a Keras model to be"):
            change(loaded, TEXTS, LABELS)
    task.save(tmp_path)
    task.export(tmp_path / "model.onnx")
    assert isinstance(keras_bert.load(tmp_path).model, keras.Model)


def test_training_sets_the_first_bias_with_class_weights_as_in_a_job_and_scoring_does_not() -> None:
    old = make_task("multi_label")
    task = old.rebuilt(make_encoder(old.tokenizer))
    keras_bert.evaluate(task, *ROWS["multi_label"])
    assert not np.any(task.model.get_layer("classifier").bias)
    task.examples(*ROWS["multi_label"])
    assert np.all(task.model.get_layer("classifier").bias)
    texts, labels = ROWS["multi_label"]
    even = make_task("multi_label")
    task = even.rebuilt(make_encoder(even.tokenizer))
    task.start_head(fitting.read_rows(task, (texts, labels))["label"], class_weights=[2.0, 3.0, 3.0])
    expected = even.rebuilt(make_encoder(even.tokenizer))
    expected.initialize_bias([2, 2, 1], 6, [2.0, 3.0, 3.0])
    np.testing.assert_array_equal(task.model.get_layer("classifier").bias, expected.model.get_layer("classifier").bias)
    assert np.any(task.model.get_layer("classifier").bias)


def test_a_new_regression_is_scored_in_its_own_scale_and_learns_in_that_of_its_training_rows() -> None:
    old = make_task("regression")
    task = keras_bert.TASKS["regression"].build(make_encoder(old.tokenizer), old.tokenizer, max_length=16)
    numbers = [5000.0 + 100 * number for _, number in zip(TEXTS, ROWS["regression"][1], strict=True)]
    keras_bert.evaluate(task, TEXTS, numbers)
    assert task.scale == (0.0, 1.0)
    with pytest.raises(ValueError, match="class_weights"):
        task.fit(TEXTS, numbers, class_weights=[1.0], **SMALL)
    assert task.scale == (0.0, 1.0)
    history = task.fit(TEXTS, [*numbers[:3], 1e6, 2e6, 3e6], validation_split=0.5, steps=1, **SMALL)
    assert task.scale.mean == pytest.approx(np.mean(numbers[:3]))
    assert history[0]["loss"] < 10


def test_held_out_rows_do_not_count_in_the_first_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(Task, "initialize_bias", lambda self, *counted: started.append(counted))
    monkeypatch.setattr(fitting, "train", lambda *arguments, **options: [])
    for name, counts in (("multi_label", ([1, 1, 1], 3, None)), ("token_classification", ([3, 1, 0], 2, None))):
        old = make_task(name)
        task = old.rebuilt(make_encoder(old.tokenizer))
        task.fit(*ROWS[name], validation_split=0.5 if name == "multi_label" else 0.7, verbose=0)
        assert started == [counts]
        started.clear()


def test_quantized_models_keep_their_ranges_on_disk_and_are_not_trained_again(tmp_path: Path) -> None:
    task = make_task("classification")
    other = make_task("classification")
    keras_bert.quantize(task, TEXTS, LABELS, post_training=True)
    task.save(tmp_path / "model")
    other.save(tmp_path / "model")
    assert keras_bert.load(tmp_path / "model").quantization is None
    for change in (keras_bert.fit, keras_bert.quantize, keras_bert.prune):
        with pytest.raises(ValueError, match=r"^Classification\.quantization must be None"):
            change(task, TEXTS, LABELS)
    task.save(tmp_path / "saved")
    assert keras_bert.load(tmp_path / "saved").quantization == task.quantization


def test_batches_hold_every_row_once_an_epoch_cut_to_the_longest() -> None:
    rows = {"padding_mask": np.array([[1, 1, 0], [1, 1, 1]], "int32"), "label": np.ones((2, 3), "int32")}
    (batch,) = fitting.batches(make_task("multi_label"), {**rows, "token_ids": rows["padding_mask"]}, 1).epoch().take(1)
    assert batch["label"].shape == (1, 3)
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], "int32")
    rows = {"token_ids": mask * 7, "padding_mask": mask, "label": np.arange(3, dtype="int32")}
    batches = ArrayBatches(rows, 2, shuffle=True, seed=1)
    seen = np.concatenate([batch["label"] for batch in batches.epoch()])
    assert sorted(seen) == [0, 1, 2]
    assert batches.epoch(1).element_spec["label"].shape.as_list() == [None]
    third = next(iter(batches.after(2)))["label"].numpy().tolist()
    assert third == next(iter(batches.epoch(1)))["label"].numpy().tolist()


def test_epochs_have_every_row_and_missing_arguments_are_told() -> None:
    task = make_task("classification")
    rows = task.training_rows(TEXTS, LABELS)
    assert fitting.count_steps(task, rows, Training(epochs=2.0, batch_size=4)) == 4
    assert fitting.count_steps(task, rows, Training(steps=3, batch_size=4)) == 3
    for change in (keras_bert.prune, keras_bert.quantize):
        with pytest.raises(TypeError, match="missing 2 required positional arguments: 'texts' and 'labels'"):
            change(task)
    with pytest.raises(TypeError, match=r"^texts must be a list of strings, got 'great film'$"):
        task.export("model.tflite", "great film")
    with pytest.raises(ValueError, match=r"^distill\.layers must be set, or else student"):
        keras_bert.distill(task, TEXTS)
    with pytest.raises(ValueError, match="layers must be 1 of the teacher's layers 0 to 1"):
        keras_bert.distill(task, TEXTS, layers=[7], verbose=0)


@pytest.mark.usefixtures("eager")
def test_encoders_of_other_tasks_share_the_weights_of_a_fit() -> None:
    task = make_task("classification")
    other = keras_bert.TASKS["regression"].build(task.encoder, task.tokenizer, max_length=32, pooling="mean")
    before = other.predict(TEXTS)
    task.fit(TEXTS, LABELS, epochs=1, learning_rate=0.01, **SMALL)
    assert other.predict(TEXTS) != before


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_verbs_of_keras_that_layers_do_not_support_are_refused_in_one_line() -> None:
    model = make_task("classification").model
    rule = r"^Dense has no quantization mode 'int8' of Keras: keras_bert\.quantize\(task, texts\)"
    with pytest.raises(ValueError, match=rule):
        model.quantize("int8")
    with pytest.raises(ValueError, match=r"^Dense has no LoRA of Keras: task\.adapt\(keras_bert\.Lora\(rank=4\)\)"):
        model.get_layer("classifier").enable_lora(4)


@pytest.mark.long
@pytest.mark.parametrize("form", ["litert", "onnx", "tf_saved_model"])
def test_verbs_of_keras_that_models_support(form: str, tmp_path: Path) -> None:
    task = make_task("classification")
    rows = task.encode(TEXTS)
    expected = task.model.predict(rows, verbose=0)
    copy = keras.models.clone_model(task.model)
    copy.set_weights(task.model.get_weights())
    np.testing.assert_allclose(copy.predict(rows, verbose=0), expected, atol=1e-6)
    suffix = {"litert": ".tflite", "onnx": ".onnx", "tf_saved_model": ""}[form]
    task.model.export(tmp_path / f"model{suffix}", format=form, verbose=False)
    assert (tmp_path / f"model{suffix}").exists()
    task.model.save(tmp_path / "model.keras")
    saved = keras.models.load_model(tmp_path / "model.keras", custom_objects=keras_bert.CUSTOM_OBJECTS)
    np.testing.assert_allclose(saved.predict(rows, verbose=0), expected, atol=1e-6)


def test_a_checkpoint_becomes_another_task_or_keeps_the_head_that_it_has(tmp_path: Path) -> None:
    task = make_task("token_classification")
    keras_bert.to_hugging_face(task, tmp_path / "hf")
    kernel = task.model.get_layer("classifier").kernel
    other = keras_bert.from_hugging_face(tmp_path / "hf", task="classification", labels=["a", "b"])
    assert (other.name, other.labels, other.max_length) == ("classification", ("a", "b"), task.max_length)
    same = keras_bert.from_hugging_face(tmp_path / "hf", task="token_classification", labels=list(task.labels))
    np.testing.assert_array_equal(same.model.get_layer("classifier").kernel, kernel)
    renamed = keras_bert.from_hugging_face(tmp_path / "hf", task="token_classification", labels=["O", "B-x", "I-x"])
    assert not np.array_equal(renamed.model.get_layer("classifier").kernel, kernel)
    with pytest.raises(
        ValueError, match=r"^from_hugging_face\.task must be one of .*; the nearest is 'classification'$"
    ):
        keras_bert.from_hugging_face(tmp_path / "hf", task="clasification")


@pytest.mark.usefixtures("eager")
def test_an_adapter_is_trained_and_distilled_but_merged_before_weights_are_put_on_a_grid() -> None:
    task = make_task("classification")
    task.adapt(keras_bert.Lora(rank=2))
    frozen = task.encoder.get_layer("token_embedding").get_weights()[0]
    task.fit(TEXTS, LABELS, epochs=1, **SMALL)
    np.testing.assert_array_equal(task.encoder.get_layer("token_embedding").get_weights()[0], frozen)
    for change in (keras_bert.prune, keras_bert.quantize):
        with pytest.raises(ValueError, match=r"^Classification\.adapter must be merged or dropped .*, got 'lora'$"):
            change(task, TEXTS, LABELS)
    task.merge_adapter()
    keras_bert.quantize(task, TEXTS, LABELS, post_training=True)
    assert task.quantization is not None
