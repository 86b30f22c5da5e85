"""Several tasks on one encoder: answers, trainings, compression, and what cannot be joined."""

import random
import re
import threading
from collections import Counter

import numpy as np
import pytest

import keras_bert
from keras_bert.core.folders import LOGITS
from keras_bert.core.target_scale import TargetScale
from keras_bert.objectives.base import means
from keras_bert.options.compression import Student
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.retrieval import Retrieval
from plugins.many_tasks import recipes
from plugins.many_tasks.joint import named_apart
from plugins.many_tasks.objective import MARK
from plugins.many_tasks.outputs import Remembered
from plugins.many_tasks.task import ManyTasks
from tests.keras_bert.recipes.test_texts import TEXTS, TOKENIZER
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.plugins.many_tasks.tiny import DATA, FAST, data_of, make_many, make_tasks, weights_of

pytestmark = pytest.mark.usefixtures("eager")

READ = ["a good film", "very bad", "film film film film film film film film"]


def assert_same(answers, expected):
    for answer, other in zip(answers, expected, strict=True):
        assert list(answer) == list(other)
        for name in answer:
            np.testing.assert_allclose(np.array(flat(answer[name])), np.array(flat(other[name])), atol=1e-5)


def flat(answer):
    if isinstance(answer, list):
        return [value for entity in answer for value in (entity.start, entity.end, entity.probability)]
    return answer.probability if hasattr(answer, "probability") else answer


def test_all_tasks_answer_as_each_alone():
    many = make_many()
    alone = {name: task.predict(READ) for name, task in many.tasks.items()}
    assert_same(many.predict(READ), [dict(zip(alone, row, strict=True)) for row in zip(*alone.values(), strict=True)])
    lines = list(many.answer_fields(READ[:1]))
    assert {line[0] for line in lines} >= {"mood", "near", "stars"}
    mood = next(line for line in lines if line[0] == "mood")
    assert mood[1:] == next(iter(many.part("mood").answer_fields(READ[:1])))
    assert list(many.answer_columns())[:2] == ["mood_label", "mood_probability"]


def test_one_run_of_the_encoder_answers_all(monkeypatch):
    many, calls = make_many(), []
    run = many.model.predict_on_batch

    def count(batch):
        calls.append(len(batch["token_ids"]))
        return run(batch)

    monkeypatch.setattr(many.model, "predict_on_batch", count)
    many.predict(READ[:2])
    assert sum(calls) == 2
    many.predict(READ[2:])  # longer than a row of the tags, who read it in two
    assert sum(calls) == 5


def test_rows_that_differ_in_tokens_which_others_do_not_attend_to_are_told_apart():
    """The mask of such tokens is -1."""

    class Sums:
        name, output, max_length = "sums", {}, 4

        def predict_on_batch(self, batch):
            return {"sum": batch["token_ids"].sum(axis=1)}

    ids, mask = np.array([[1, 2, 3, 0], [1, 2, 4, 0]]), np.array([[1, 1, -1, 0]] * 2)
    batch = {"token_ids": ids, "segment_ids": np.zeros_like(ids), "padding_mask": mask}
    np.testing.assert_array_equal(Remembered(Sums()).predict_on_batch(batch)["sum"], [6, 7])


def test_one_task_is_fitted_as_alone():
    random.seed(0)
    alone = make_tasks("mood")["mood"]
    random.seed(0)
    together = make_many("mood")
    options = {**FAST, "accumulation": 2, "validation_split": 0.25}
    expected = keras_bert.fit(alone, *DATA["mood"], **options)
    history = together.fit({"mood": DATA["mood"]}, **options)
    for ours, theirs in zip(weights_of(together.part("mood").model), weights_of(alone.model), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [entry["mood_loss"] for entry in history] == pytest.approx([entry["loss"] for entry in expected])


def test_all_tasks_learn_together():
    many = make_many("mood", "tags")

    def measure():
        return [keras_bert.evaluate(task, *DATA[name])["loss"] for name, task in many.tasks.items()]

    before = measure()
    options = {"epochs": 6, "learning_rate": 3e-3, "start_head": "random", "temperature": 2.0}
    many.fit(data_of(many), **{**FAST, **options})
    after = measure()
    assert after[0] < before[0]
    assert after[1] < before[1]
    history = many.fit(data_of(many), **FAST, steps=1, validation_split=0.25)
    assert {"validation_mood_accuracy", "validation_tags_closeness", "validation_loss"} <= set(history[-1])
    assert many.selected_by == ("validation_mood_accuracy", "validation_tags_closeness")
    assert many.only(["tags"]).selected_by == ("validation_tags_loss",)
    assert many.drawn_weights == {}
    assert many.part("mood").pairs is False


def test_a_loss_without_a_bound_does_not_choose_the_weights_alone():
    """A negative loss in the thousands decided beside an accuracy."""
    many = make_many("mood", "stars")
    many.part("stars").model.get_layer("regressor").scale = TargetScale(5000.0, 1.0)
    objective = many.objective()
    entry = {}
    for name in many.tasks:
        rows = {**many.part(name).training_rows(*DATA[name]), f"{MARK}{name}": 0}
        outputs = objective.run(many.model, rows, training=False)
        entry |= {f"validation_{metric}": value for metric, value in means([objective.measure(outputs, rows)]).items()}
    assert entry["validation_stars_loss"] > 10_000
    assert entry["validation_stars_closeness"] == pytest.approx(1 / (1 + entry["validation_stars_loss"]), rel=1e-4)
    assert set(many.selected_by) == {"validation_mood_accuracy", "validation_stars_closeness"}
    assert all(0 <= entry[name] <= 1 for name in many.selected_by)


def test_other_tasks_and_a_frozen_encoder_stay_as_they_are():
    many = make_many("mood", "stars", "tags")
    heads = {name: weights_of(many.model.get_layer(name)) for name in many.tasks}
    encoder, answers = weights_of(many.encoder), many.part("tags").predict(TEXTS[:1])
    many.fit({name: DATA[name] for name in ("mood", "stars")}, **FAST, freeze=True)
    np.testing.assert_equal(weights_of(many.encoder), encoder)
    assert many.part("tags").predict(TEXTS[:1]) == answers
    assert [weight.trainable for weight in many.encoder.weights] == [True] * len(encoder)
    many.fit({"mood": DATA["mood"]}, **FAST)
    np.testing.assert_equal(weights_of(many.model.get_layer("tags")), heads["tags"])
    assert not np.array_equal(weights_of(many.model.get_layer("mood"))[0], heads["mood"][0])
    assert not np.array_equal(weights_of(many.encoder)[0], encoder[0])


def test_a_failed_training_changes_nothing():
    many = make_many("mood", "stars")
    before = weights_of(many.model)
    with pytest.raises(ArithmeticError, match="the model has the weights from before"):
        many.fit(data_of(many), **{**FAST, "epochs": 9, "learning_rate": 1e25}, start_head="random")
    for weight, values in zip(many.model.weights, before, strict=True):
        if not weight.path.endswith(("mean", "standard_deviation")):
            np.testing.assert_array_equal(weight, values)
    assert [layer.path for layer in many.part("mood").model.layers][-1] == "classifier"


def test_one_student_one_pruning_and_one_quantization(tmp_path):
    many = make_many("mood", "stars", layers=2)
    data = data_of(many)
    small = recipes.distill(many, data, layers=[1], teachers=many.tasks, **FAST)
    assert small.encoder.count_params() < many.encoder.count_params()
    assert [task.settings() for task in small.tasks.values()] == [task.settings() for task in many.tasks.values()]
    recipes.prune(small, data, **FAST)
    kernel = small.model.get_layer("block_0").attention.query.kernel.numpy()
    assert (kernel == 0).mean() == 0.5
    assert np.all(small.part("mood").model.get_layer("classifier").kernel.numpy() != 0), "heads are not pruned"
    recipes.quantize(small, data, recipe="static_wi8_ai8", **FAST)
    assert "mood/mean_pooler/output_tap" in small.quantization.ranges
    assert "mean_pooler/output_tap" in small.part("mood").quantization.ranges
    small.part("mood").calibration = Calibration(1.5, 0.75)
    small.save(tmp_path)
    loaded = keras_bert.load(tmp_path)
    assert loaded.quantization == small.quantization
    assert loaded.part("stars").quantization == small.part("stars").quantization
    assert loaded.settings() == small.settings()
    assert loaded.part("mood").calibration == Calibration(1.5, 0.75)
    assert_same(loaded.predict(READ), small.predict(READ))
    assert keras_bert.load(tmp_path, task="mood").predict(READ) == small.part("mood").predict(READ)
    for task in (loaded, small.part("mood")):
        with pytest.raises(ValueError, match="quantization must be None for a model that is trained"):
            task.fit(*([data] if task is loaded else DATA["mood"]), **FAST)


def test_a_loaded_model_goes_on_learning_as_the_saved_one(tmp_path):
    many = make_many("mood", "near")
    many.part("mood").calibration = Calibration(2.0)
    many.fit(data_of(many), **FAST)
    assert many.part("mood").calibration == Calibration(), "it was of the weights before"
    many.save(tmp_path)
    loaded = keras_bert.load(tmp_path)
    for task in (many, loaded):
        task.fit(data_of(task), **FAST)
    assert_same(loaded.predict(READ), many.predict(READ))


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_labels_as_data_are_fitted_to_the_training_rows(share):
    task = pytest.importorskip("plugins.open_labels.task", reason="the task is of another plug-in")
    tasks, labels = make_tasks("stars"), [text.split()[0] for text in TEXTS]
    tasks["intent"] = task.OpenLabels.build(tasks["stars"].encoder, TOKENIZER, max_length=8)
    many, data = ManyTasks(tasks), {"intent": (TEXTS, labels), "stars": DATA["stars"]}
    many.fit(data, **FAST, validation_split=share)
    learned = labels[: len(labels) - round(share * len(labels))]
    table = many.part("intent").table
    assert {label: table[label].weight for label in table.labels} == Counter(learned)
    small = recipes.distill(many, data, student=Student(num_layers=1, hidden_size=8), **FAST)
    assert small.part("intent").labels == tuple(sorted(set(labels)))
    assert len(small.part("intent").classify(READ)) == len(READ)
    many.part("intent").add_label("new", ["film , film"])
    with pytest.raises(ValueError, match=r"distill\.labels must hold rows of \['new'\], labels of the teacher"):
        recipes.distill(many, data, student=Student(num_layers=1, hidden_size=8), **FAST)


def test_refuses_passages_of_other_micro_batches():
    tasks = make_tasks("stars")
    contrast = {"across_micro_batches": True}
    tasks["find"] = Retrieval.build(tasks["stars"].encoder, TOKENIZER, max_length=8, contrast=contrast)
    data = {"find": (TEXTS, TEXTS[::-1]), "stars": DATA["stars"]}
    with pytest.raises(ValueError, match=r"Contrast\.across_micro_batches of find must be false among several tasks"):
        ManyTasks(tasks).fit(data, **FAST, accumulation=2)


def test_vectors_of_a_quantized_model_stay_in_their_space():
    many = make_many("mood", "near")
    space = many.part("near").space
    recipes.quantize(many, data_of(many), post_training=True, batch_size=8)
    assert many.part("near").space == space
    assert many.space == {"near": space}
    many.model.weights[0].assign(many.model.weights[0] + 1)
    assert many.part("near").space != space


def test_paths_are_as_before_for_other_threads_and_after_errors():
    many, seen, inside = make_many("mood", "tags"), [], threading.Event()
    paths = [weight.path for weight in many.model.weights]

    def look():
        inside.wait()
        with named_apart(many.model):
            seen.extend(weight.path for weight in many.model.weights)

    thread = threading.Thread(target=look)
    thread.start()
    apart = []

    def fail():
        with named_apart(many.model):
            inside.set()
            apart.extend(weight.path for weight in many.model.weights)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    thread.join()
    assert apart == seen, "the other thread waited"
    assert len(set(apart)) == len(apart)
    assert [weight.path for weight in many.model.weights] == paths


def other_encoder():
    return {**make_tasks("mood"), "stars": make_tasks("stars")["stars"]}


def other_tokenizer():
    mood = make_tasks("mood")["mood"]
    other = Classification.build(mood.encoder, PlainTokenizer(WORDS), labels=["a", "b"], max_length=8)
    return {"mood": mood, "x": other}


def adapted():
    tasks = make_tasks("mood")
    tasks["mood"].adapt(keras_bert.Lora(rank=1))
    return tasks


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (dict, "ManyTasks.tasks must name at least one task, got {}"),
        (
            lambda: {"Mood": make_tasks("mood")["mood"]},
            "must be of small letters, digits and underscores, and",
        ),
        (lambda: {LOGITS: make_tasks("mood")["mood"]}, "and none of serve, all, logits, probabilities,"),
        (lambda: {"pooler": make_tasks("stars")["stars"]}, "must differ from the names of the encoder's layers"),
        (other_encoder, "must be built on the encoder of the other tasks, as Kind.build(base.encoder, base.tokenizer"),
        (other_tokenizer, "must have the tokenizer of the other tasks, got 'another one'"),
        (adapted, "must have no adapter: merge it first, got 'one'"),
        (
            lambda: {"mask": Pretraining.build(make_encoder(), TOKENIZER, max_length=8)},
            "must have a head without layers of the encoder",
        ),
    ],
)
def test_refuses_tasks_that_cannot_be_joined(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ManyTasks(make())


def test_refuses_rows_before_any_training():
    many = make_many("mood", "stars")
    before = weights_of(many.model)
    bad = (TEXTS, ["never"] * len(TEXTS))
    for call, message in (
        (lambda: many.fit({}), "data must have rows of at least one task"),
        (
            lambda: keras_bert.fit(many, data_of(many)),
            "ManyTasks must have rows by the names of tasks: call its method",
        ),
        (lambda: keras_bert.evaluate(many, TEXTS, DATA["mood"][1]), "ManyTasks must have rows by the names of tasks"),
        (lambda: many.adapt(keras_bert.Lora(rank=1)), "ManyTasks.adapter must be trained and merged before tasks are"),
        (lambda: many.fit({"other": bad}), "ManyTasks.task must be one of mood, stars, got 'other'"),
        (lambda: many.fit({**data_of(many), "mood": bad}, verbose=0), "never"),
        (lambda: recipes.quantize(many, {"mood": DATA["mood"]}), "have rows of all tasks, mood, stars"),
        (lambda: recipes.distill(many, {"mood": DATA["mood"]}, layers=[0]), "have rows of mood, stars"),
        (lambda: recipes.distill(many, data_of(many), layers=[0], teachers={"mood": many}), "have one of mood, stars"),
        (
            lambda: ManyTasks(many.tasks, shares={"mood": 0.0}),
            "be positive numbers for names of mood, stars",
        ),
        (lambda: ManyTasks(many.tasks, shares={"x": 1.0}), "be positive numbers for names of mood, stars"),
        (
            lambda: ManyTasks.build(many.encoder, TOKENIZER, tasks={"long": {"task": "regression", "max_length": 99}}),
            "Regression.max_length must be between 3 and the model's 40 positions, got 99",
        ),
        (
            lambda: ManyTasks.build(many.encoder, TOKENIZER, tasks={"x": {"task": "y"}}),
            "tasks['x'].task must be",
        ),
        (
            lambda: many.part("mood").part("stars"),
            "be left out for classification, which has no tasks",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
    np.testing.assert_equal(weights_of(many.model), before)
