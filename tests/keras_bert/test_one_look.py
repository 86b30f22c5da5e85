"""The way of a notebook user: fit, distill, prune, quantize, export and evaluate, with rows in memory."""

import keras
import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

import keras_bert
from keras_bert.core.target_scale import TargetScale
from keras_bert.data.array_batches import ArrayBatches
from keras_bert.export import task_export
from keras_bert.in_memory import fit as fitting
from keras_bert.objectives.distillation import DistillationObjective
from tests.keras_bert.export.word_tasks import make_encoder, make_task

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


def new_task(name):
    if name not in ("reranking", "retrieval"):
        return make_task(name)
    base = make_task("embedding")
    return keras_bert.TASKS[name].build(base.encoder, base.tokenizer, max_length=16)


def test_triplets_need_negatives_that_rows_in_memory_do_not_have():
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
    ("name", "rate", "epochs"),
    [
        pytest.param("classification", 2e-2, 16, marks=pytest.mark.long),
        ("multi_label", 4e-2, 8),
        pytest.param("regression", 4e-2, 6, marks=pytest.mark.long),
        ("embedding", 2e-2, 4),
    ],
)
def test_a_student_learns_from_probabilities_without_a_teacher(name, rate, epochs):
    keras.utils.set_random_seed(1)
    task = make_task(name, num_layers=1, dropout=0.0, attention_dropout=0.0)
    answers = SHARES[:, 0] if name in ("regression", "embedding") else SHARES
    texts = ROWS[name][:2] if name == "embedding" else ROWS[name][:1]
    training = {**SMALL, "batch_size": 6, "learning_rate": rate, "epochs": epochs}
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


class NAType:
    """`NA` of pandas: comparing it gives no truth value."""

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")


@pytest.mark.usefixtures("eager")
def test_named_columns_of_probabilities_may_have_any_order():
    task = make_task("classification")
    columns = dict(zip(task.labels, SHARES.T, strict=True))
    table = pa.table({label: columns[label] for label in reversed(task.labels)})
    for answers in (table, SHARES):
        rows = fitting.read_rows_with_answers(task, (TEXTS,), None, answers)
        assert rows["label"].tolist() == SHARES.argmax(1).tolist()
    with pytest.raises(ValueError, match=r"probabilities must have columns named as the labels.*got \['p', 'good'"):
        task.fit(TEXTS, probabilities=table.rename_columns(["p", "good", "bad"]))


@pytest.mark.usefixtures("eager")
def test_rows_with_labels_or_answers_or_both():
    task = make_task("classification")
    some = np.where(np.arange(6)[:, None] < 2, np.nan, SHARES)
    rows = fitting.read_rows_with_answers(task, [TEXTS, LABELS], None, some)
    assert rows["has_answers"].tolist() == [0, 0, 1, 1, 1, 1]
    assert rows["has_label"].tolist() == [1] * 6
    np.testing.assert_allclose(np.exp(rows["teacher_answers"][2:]), np.maximum(SHARES[2:], 1e-6), rtol=1e-5)
    labels = [*LABELS[:3], None, float("nan"), NAType()]
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
        make_task("regression"), (TEXTS[:3], [1.0, np.float32("nan"), 3.0]), None, [10.0, 20.0, np.nan]
    )
    assert numbers["value"].tolist() == [1.0, 20.0, 3.0]
    assert numbers["teacher_answers"].tolist() == [[10.0], [20.0], [0.0]]


@pytest.mark.usefixtures("eager")
def test_texts_alone_are_labelled_by_the_teacher(monkeypatch):
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


@pytest.mark.usefixtures("eager")
def test_the_teacher_also_labels_new_pairs_of_texts_without_labels(monkeypatch):
    teacher, calls, texts = make_task("classification"), [], [f"{text} {row}" for row, text in enumerate(TEXTS)]
    encode = type(teacher).encode
    monkeypatch.setattr(type(teacher), "encode", lambda task, *columns: calls.append(columns) or encode(task, *columns))
    for new_pairs, rows in ((None, 18), (1, 12), (0, 6)):
        keras_bert.distill(teacher, texts, pairs=CONTEXTS, new_pairs=new_pairs, layers=[0], steps=1, **SMALL)
        firsts, seconds = calls.pop()
        assert (firsts[:6], seconds[:6]) == (texts, CONTEXTS)
        assert len({*zip(firsts, seconds, strict=True)}) == rows
    for columns, pairs in (((texts,), None), ((texts, LABELS), CONTEXTS)):
        with pytest.raises(ValueError, match=r"^distill\.new_pairs must be left out for rows of single texts, and for"):
            keras_bert.distill(teacher, *columns, pairs=pairs, new_pairs=1, layers=[0], **SMALL)


class LabelledColumn:
    """A column whose rows have labels, as one of pandas that was filtered: `column[0]` is no row."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, label):
        return dict(enumerate(self._values, start=10))[label]


class Table(LabelledColumn):
    """A table as in pandas, which iterates over the names of its columns."""

    columns = ("text", "label")


@pytest.mark.parametrize("name", ROWS)
def test_columns_of_any_library_are_lists(name):
    task, columns = new_task(name), ROWS[name]
    expected = fitting.read_rows(task, *fitting.read_columns(task, columns, None))
    forms = [LabelledColumn, iter]
    if name not in ("question_answering", "token_classification", "multi_label"):
        forms += [pa.array, np.array, lambda column: tf.data.Dataset.from_tensor_slices(column)]
    for form in forms:
        data = [form([*column]) for column in columns]
        data = [tf.data.Dataset.zip(*data)] if isinstance(data[0], tf.data.Dataset) else data
        rows = fitting.read_rows(task, *fitting.read_columns(task, data, None))
        for feature, array in rows.items():
            np.testing.assert_array_equal(array, expected[feature])
    examples = task.examples(*(LabelledColumn([*column]) for column in columns))[0]
    assert len(next(iter(examples.values()))) == len(expected["padding_mask"])
    with pytest.raises(TypeError, match=r"must be a list of values, got a Table, which would be read as the names"):
        task.fit(Table(["text", "label"]), *columns[1:])


def test_tables_mappings_and_sets_are_no_texts():
    task, way_out = make_task("classification"), r"give a column, as texts\['text'\]$"
    for wrong in (Table(["text", "label"]), {"text": TEXTS}):
        for use in (task.predict, task.encode, task.tokenizer.tokenize, lambda texts: list(task.answer_fields(texts))):
            with pytest.raises(TypeError, match=rf"^texts must be .*got a {type(wrong).__name__}, .*{way_out}"):
                use(wrong)
    with pytest.raises(TypeError, match=r"^texts must be a list of strings, got a set, which has no order"):
        task.predict({*TEXTS})
    assert [line[-1] for line in task.answer_fields(iter(TEXTS))] == TEXTS


@pytest.mark.usefixtures("eager")
def test_pairs_by_position_are_pairs():
    task, rows = make_task("classification"), tf.data.Dataset.from_tensor_slices((TEXTS, LABELS, CONTEXTS))
    for data, pairs in (((TEXTS, LABELS, CONTEXTS), None), ((rows,), None), ((TEXTS, LABELS), CONTEXTS)):
        task.pairs = None
        task.fit(*data, pairs=pairs, steps=1, **SMALL)
        assert task.pairs is True
    assert keras_bert.distill(task, TEXTS, None, CONTEXTS, layers=[0], steps=1, **SMALL).pairs is True
    mixed = (TEXTS, [*LABELS[:5], None], CONTEXTS), None
    given = fitting.read_rows_with_answers(task, *fitting.read_columns(task, *mixed), SHARES)
    np.testing.assert_array_equal(given["token_ids"], task.encode(TEXTS, CONTEXTS)["token_ids"])
    task.fit(TEXTS, LABELS, steps=1, **SMALL)
    assert task.pairs is False
    with pytest.raises(TypeError, match="pairs"):
        task.fit(TEXTS, LABELS, CONTEXTS, pairs=CONTEXTS)


@pytest.mark.usefixtures("eager")
def test_the_validation_split_is_the_last_rows_and_chooses_the_weights():
    task = make_task("classification")
    history = task.fit(TEXTS, LABELS, epochs=3, validation_split=0.34, learning_rate=0.05, **SMALL)
    best = max(history.history["val_accuracy"])
    assert len(history.history["val_accuracy"]) == 3
    assert history.history["loss"] == [entry["loss"] for entry in history]
    assert keras_bert.evaluate(task, TEXTS[4:], LABELS[4:])["accuracy"] == best
    with pytest.raises(ValueError, match=r"^fit\.validation_split must leave rows on both sides of 6, got 0\.01$"):
        task.fit(TEXTS, LABELS, validation_split=0.01)


def test_an_interrupted_quantization_leaves_the_model_as_it_was(monkeypatch):
    task = make_task("classification")
    weights = task.model.get_weights()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("keras_bert.recipes.quantize.train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        keras_bert.quantize(task, TEXTS, LABELS)
    assert task.quantization is None
    for weight, earlier in zip(task.model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(weight, earlier)


def test_static_recipes_need_texts_for_the_export_and_the_file_is_whole_or_not_there(tmp_path):
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


def test_texts_of_an_export_get_the_prompt_of_queries(tmp_path, monkeypatch):
    base, compared = make_task("embedding"), []
    monkeypatch.setattr(task_export, "compare_answers", lambda *given: compared.append(given[-1].features))
    task = type(base).build(base.encoder, base.tokenizer, max_length=16, prompts={"query": "the "})
    task.export(tmp_path / "model.onnx", ["film", "plot"])
    np.testing.assert_array_equal(compared[0]["token_ids"], task.encode(["the film", "the plot"])["token_ids"])


def test_a_file_is_scored_but_not_trained_and_stands_beside_a_saved_model(tmp_path):
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


def test_a_new_regression_is_scored_in_its_own_scale_and_learns_in_that_of_its_training_rows():
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


@pytest.mark.usefixtures("eager")
def test_regressions_learn_in_the_unit_of_their_numbers_wherever_their_head_is_from(tmp_path):
    old, numbers = make_task("regression"), [1000.0 * number for number in range(1, 7)]
    scale = TargetScale.of(numbers)
    new = keras_bert.TASKS["regression"].build(make_encoder(old.tokenizer), old.tokenizer, max_length=16)
    new.save(tmp_path / "new")
    student = keras_bert.distill(new, TEXTS, probabilities=numbers, layers=[0], steps=1, **SMALL)
    saved = keras_bert.load(tmp_path / "new")
    saved.fit(TEXTS, numbers, steps=1, **SMALL)
    # Heads of checkpoints are in the unit of the numbers that they learnt.
    other = make_task("regression")
    losses = [entry["loss"] for entry in other.fit(TEXTS, numbers, steps=1, learning_rate=1e-9, **SMALL)]
    for task in (student, saved, other):
        assert task.scale == scale
    assert np.mean(losses) < 100, "in the unit of the numbers they are 10 million"
    kept = make_task("regression")
    kept.model.get_layer("regressor").bias.assign([3500.0])
    kept.model.get_layer("regressor").kernel.assign(kept.model.get_layer("regressor").kernel * 100)
    answers = kept.predict(TEXTS)
    kept.fit(TEXTS, [answer + (-1) ** row for row, answer in enumerate(answers)], steps=1, learning_rate=1e-12, **SMALL)
    assert kept.scale != (0.0, 1.0)
    assert kept.predict(TEXTS) == pytest.approx(answers, rel=1e-4), "answers that fit are kept"


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("name", "metric", "constant"),
    [("classification", "accuracy", 0.6), ("multi_label", "micro_f1", 0.0), ("regression", "absolute_error", 48.0)],
)
def test_scores_stand_beside_those_of_words_and_of_a_constant(name, metric, constant):
    texts = ["great film", "the great plot", "great", "a dull plot", "dull"] * 10
    labels = [["good"], ["good"], ["good"], ["bad", "neither"], ["bad"]] * 10
    values = {
        "classification": [names[0] for names in labels],
        "multi_label": [*labels[:30], *[[]] * 20],
        "regression": [100.0 * ("great" in text) for text in texts],
    }[name]
    texts = texts if name != "multi_label" else [*texts[:30], *["the film"] * 20]
    task = make_task(name)
    scores = keras_bert.evaluate(task, iter(texts), values, pairs=texts, baselines=True)
    assert scores.items() >= keras_bert.evaluate(task, texts, values, pairs=texts).items()
    assert scores[f"constant_{metric}"] == pytest.approx(
        constant, abs=0.02 * constant if name == "regression" else 1e-6
    )
    better = scores[f"words_{metric}"] - scores[f"constant_{metric}"]
    assert better < -20 if name == "regression" else better > 0.35
    with pytest.raises(ValueError, match=r"^evaluate\.baselines must be False for tasks without labels or numbers"):
        keras_bert.evaluate(new_task("embedding"), *ROWS["embedding"], baselines=True)


@pytest.mark.usefixtures("eager")
def test_trainings_that_cannot_learn_are_refused_and_lists_are_not_cut():
    ranking, retrieval = new_task("reranking"), new_task("retrieval")
    queries, passages, _ = ROWS["reranking"]
    for relevances, split in (([1.0] * 6, 0), ([1.0, 1.0, 1.0, 1.0, 1.0, 0.0], 0.3)):
        rule = r"^Reranking\.relevances must differ for the passages of a query, .*add passages that do not answer"
        with pytest.raises(ValueError, match=rule):
            ranking.fit(queries, passages, relevances, validation_split=split, **SMALL)
    with pytest.raises(ValueError, match=r"^Reranking\.relevances must differ"):
        ranking.fit(TEXTS, passages, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], **SMALL)
    # A third of nine rows is three, in the middle of the second list.
    rows = ["a"] * 4 + ["film"] * 5, [*passages, *TEXTS[:3]], [1.0, 0.0] * 4 + [1.0]
    history = ranking.fit(*rows, validation_split=1 / 3, epochs=1, **SMALL)
    assert history[-1]["validation_loss"] > 0
    assert history[-1]["step"] == 1, "the list of four rows learns"
    with pytest.raises(ValueError, match=r"^fit\.validation_split must leave rows on both sides of 4, without"):
        ranking.fit(*(column[:4] for column in rows), validation_split=0.5, **SMALL)
    for others, options, message in (
        (["film"] * 6, {}, r"^Retrieval\.others must hold passages that answer different queries, .*one group"),
        (
            CONTEXTS,
            {"validation_split": 0.1},
            r"^Retrieval\.others must hold .*, got 'one group of passages in 1 rows'$",
        ),
        (CONTEXTS, {"batch_size": 1}, r"^Training\.batch_size must be at least 2 in each micro-batch .*, got 1$"),
        (CONTEXTS, {"accumulation": 3}, r"^Training\.batch_size must be at least 2 in each micro-batch .*, got 1$"),
    ):
        with pytest.raises(ValueError, match=message):
            retrieval.fit(TEXTS, others, **{**SMALL, **options})


def test_held_out_rows_do_not_count_in_the_first_head(monkeypatch):
    read = []

    def keep(task, rows, *options):
        read.append(sum(len(batch["token_ids"]) for batch in rows.epoch()))

    monkeypatch.setattr("keras_bert.recipes.fit.fit_head", keep)
    monkeypatch.setattr("keras_bert.recipes.fit.train", lambda *arguments, **options: [])
    for name, share in (("multi_label", 0.5), ("token_classification", 0.7)):
        old = make_task(name)
        task = old.rebuilt(make_encoder(old.tokenizer))
        task.fit(*ROWS[name], validation_split=share, verbose=0)
        count = len(ROWS[name][0])
        assert read.pop() == count - round(count * share)


def test_quantized_models_keep_their_ranges_on_disk_and_are_not_trained_again(tmp_path):
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


def test_batches_hold_every_row_once_an_epoch():
    rows = {"padding_mask": np.array([[1, 1, 0], [1, 1, 1]], "int32"), "label": np.ones((2, 3), "int32")}
    (batch,) = ArrayBatches("multi_label", rows, 1, 16).epoch().take(1)
    assert (batch["label"].shape, batch["padding_mask"].shape) == ((1, 3), (1, 8))
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], "int32")
    rows = {"token_ids": mask * 7, "padding_mask": mask, "label": np.arange(3, dtype="int32")}
    batches = ArrayBatches("classification", rows, 2, 16, shuffle=True, seed=1)
    seen = np.concatenate([batch["label"] for batch in batches.epoch()])
    assert sorted(seen) == [0, 1, 2]
    assert batches.epoch(1).element_spec["label"].shape.as_list() == [None]
    third = next(iter(batches.after(2)))["label"].numpy().tolist()
    assert third == next(iter(batches.epoch(1)))["label"].numpy().tolist()


def test_missing_arguments_are_told():
    task = make_task("classification")
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
def test_encoders_of_other_tasks_share_the_weights_of_a_fit():
    task = make_task("classification")
    other = keras_bert.TASKS["regression"].build(task.encoder, task.tokenizer, max_length=32, pooling="mean")
    before = other.predict(TEXTS)
    task.fit(TEXTS, LABELS, epochs=1, learning_rate=0.01, **SMALL)
    assert other.predict(TEXTS) != before


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_verbs_of_keras_that_layers_do_not_support_are_refused_in_one_line():
    model = make_task("classification").model
    rule = r"^Dense has no quantization mode 'int8' of Keras: keras_bert\.quantize\(task, texts\)"
    with pytest.raises(ValueError, match=rule):
        model.quantize("int8")
    with pytest.raises(ValueError, match=r"^Dense has no LoRA of Keras: task\.adapt\(keras_bert\.Lora\(rank=4\)\)"):
        model.get_layer("classifier").enable_lora(4)


@pytest.mark.long
@pytest.mark.parametrize("form", ["litert", "onnx", "tf_saved_model"])
def test_verbs_of_keras_that_models_support(form, tmp_path):
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


def test_a_checkpoint_becomes_another_task_or_keeps_the_head_that_it_has(tmp_path):
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
def test_an_adapter_is_trained_and_distilled_but_merged_before_weights_are_put_on_a_grid():
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
