"""One encoder, several tasks and adapters: nothing runs, trains, or is written with another adapter than its own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import pytest

from keras_bert.models.saving import load_model
from keras_bert.options.adaptation import Adapters, Bias, Lora, Prompt
from keras_bert.options.training import Training
from keras_bert.tasks.registry import load_adapter
from tests.keras_bert.adaptation.test_adapter import TEXTS, answer, disturb, make_task
from tests.keras_bert.tasks.plain_tokenizer import PlainTokenizer
from tests.keras_bert.tasks.tiny import make_encoder
from tests.keras_bert.tiny import EAGER
from tests.samples import long_but

DETACHED = r"^the adapter of model '.*' must be attached .* got it detached: call task.adapter.attach\(\)"


def save_adapted(folder, base, kind, seed=1):
    """Writes an adapter with a head of its own, and returns its answers."""
    task = make_task(base.encoder, seed=seed)
    disturb(task.adapt(kind), seed)
    answers = answer(task)
    task.save_adapter(folder)
    task.drop_adapter()
    return answers


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A task from `load_adapter`, detached, whose model was asked once, and its answers."""
    folder, base = tmp_path_factory.mktemp("adapter"), make_task()
    expected = save_adapted(folder, base, Lora(rank=2))
    task = load_adapter(folder, base)
    np.testing.assert_allclose(answer(task), expected, atol=1e-6)
    return task, expected


def quantize(task):
    quantizing = pytest.importorskip("keras_bert.compress.quantize")
    return quantizing.QuantizationAware(task.network(), [task.encode(TEXTS)], "dynamic_wi8")


def prune(task):
    pytest.importorskip("keras_bert.training.masks").Masks(task.network())


def copy_to_student(task):
    from keras_bert.compress.students import initialize_from_teacher

    initialize_from_teacher(make_task().model, task.model, (0,))


def train(task):
    step = pytest.importorskip("keras_bert.training.step")
    step.TrainingStep(task.network(), task.objective(), Training(xla="off"), steps=1)


def export(task):
    pytest.importorskip("keras_bert.export.tflite").export_tflite(task.network(), "nowhere.tflite")


USES = {
    "predict": lambda task: task.model.predict(task.encode(TEXTS), verbose=0),
    "call": lambda task: task.model(task.encode(TEXTS)),
    "derived model": lambda task: keras.Model(task.model.input, task.model.output)(task.encode(TEXTS)),
    "compile": lambda task: task.compile(keras.optimizers.SGD(0.1)),
    "quantize": quantize,
    "prune": prune,
    "student": copy_to_student,
    "train": train,
    "export": export,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_model_is_refused_while_its_adapter_is_detached(loaded, use):
    task, _ = loaded
    with pytest.raises(ValueError, match=DETACHED):
        use(task)
    assert not task.adapter.attached


def test_fit_is_refused_while_the_adapter_is_detached(loaded):
    task, _ = loaded
    before = [weight.numpy() for weight in task.model.weights]
    task.model.compile(keras.optimizers.SGD(0.5), loss=task.loss())
    with pytest.raises(ValueError, match=DETACHED):
        task.model.fit(*task.examples(TEXTS, ["good", "bad", "bad"]), verbose=0)
    with pytest.raises(ValueError, match=DETACHED):
        task.model.evaluate(*task.examples(TEXTS, ["good", "bad", "bad"]), verbose=0)
    for weight, value in zip(task.model.weights, before, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_attached_the_model_runs_with_it(loaded):
    task, expected = loaded
    task.adapter.attach()
    outputs = task.model.predict(task.encode(TEXTS), verbose=0)
    task.adapter.detach()
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_a_loaded_adapter_is_trained_further(tmp_path):
    base = make_task()
    save_adapted(tmp_path / "first", base, Lora(rank=2))
    task = load_adapter(tmp_path / "first", base)
    digest = task.adapter.base()
    task.adapter.attach()
    task.compile(keras.optimizers.SGD(0.5), **EAGER)
    before = answer(task)
    task.model.fit(*task.examples(TEXTS, ["good", "bad", "bad"]), verbose=0)
    after = answer(task)
    assert np.abs(after - before).max() > 1e-3
    task.save_adapter(tmp_path / "second")
    assert task.adapter.base() == digest
    np.testing.assert_allclose(answer(load_adapter(tmp_path / "second", make_task())), after, atol=1e-6)


def plain_model(encoder):
    """Made by hand: no task knows of it."""
    return keras.Model(encoder.input, keras.ops.sum(encoder.output["sequence_output"], axis=1))


@pytest.mark.parametrize(
    "kind", long_but((Lora(rank=2), Prompt(tokens=4)), (Lora(rank=2), Bias(), Adapters(size=3), Prompt(tokens=4)))
)
def test_every_model_on_the_encoder_follows_a_drop(kind):
    task = make_task()
    other, features = plain_model(task.encoder), task.encode(TEXTS)
    alone = other.predict_on_batch(features)
    disturb(task.adapt(kind))
    adapted = other.predict_on_batch(features)
    assert np.abs(adapted - alone).max() > 0.01
    task.drop_adapter()
    np.testing.assert_array_equal(other.predict_on_batch(features), alone)
    task.model.predict_on_batch(features)


def test_every_model_on_the_encoder_follows_a_merge():
    task = make_task()
    other, features = plain_model(task.encoder), task.encode(TEXTS)
    other.predict_on_batch(features)
    adapter = task.adapt(Lora(rank=2))
    disturb(adapter)
    adapted = other.predict_on_batch(features)
    task.merge_adapter()
    np.testing.assert_allclose(other.predict_on_batch(features), adapted, atol=1e-5)
    with pytest.raises(ValueError, match=r"Adapter.attach must not follow a merge"):
        adapter.attach()


def test_compiled_functions_are_exchanged_with_the_adapter():
    task = make_task()
    other, features = plain_model(task.encoder), task.encode(TEXTS)
    adapter = task.adapt(Lora(rank=2))
    other(features)
    other.compile("sgd", "mse")
    other.train_function, other.predict_function = "train with adapter", "predict with adapter"
    adapter.detach()
    assert (other.train_function, other.predict_function) == (None, None)
    other.predict_function = "predict alone"
    with adapter.active():
        assert (other.train_function, other.predict_function) == ("train with adapter", "predict with adapter")
    assert (other.train_function, other.predict_function) == (None, "predict alone")
    other.compile("sgd", "mae")
    adapter.attach()
    assert (other.train_function, other.predict_function) == (None, None)
    other.predict_function = "predict with adapter"
    adapter.thaw()
    assert other.predict_function is None


def test_a_second_adapter_on_an_encoder_is_refused_whole():
    task = make_task()
    disturb(task.adapt(Lora(rank=2, layers=("query",))))
    other, expected = make_task(task.encoder, seed=1), answer(task)
    weights = [weight.path for weight in task.model.weights]
    for kind in (Bias(), Adapters(size=3), Lora(rank=2, layers=("value",))):
        with pytest.raises(ValueError, match="must have no other adapter attached, got one of kind 'lora': detach"):
            other.adapt(kind)
    assert other.adapter is None
    assert [weight.path for weight in task.model.weights] == weights
    np.testing.assert_array_equal(answer(task), expected)


def test_a_task_runs_and_is_saved_without_the_adapter_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr(PlainTokenizer, "save", lambda tokenizer, folder: None, raising=False)
    task = make_task()
    other = make_task(task.encoder, seed=1)
    alone = answer(other)
    adapter = task.adapt(Bias())
    disturb(adapter)
    np.testing.assert_array_equal(answer(other), alone)
    other.save(tmp_path / "other")
    assert adapter.attached
    model = load_model(tmp_path / "other" / "model.keras")
    np.testing.assert_allclose(answer(type(other)(model, other.tokenizer, **other.settings())), alone, atol=1e-6)


def test_an_adapter_made_beside_another_knows_the_encoder_alone(tmp_path):
    base = make_task()
    expected = save_adapted(tmp_path, base, Bias())
    base.adapt(Lora(rank=2))
    task = load_adapter(tmp_path, base)
    np.testing.assert_allclose(answer(task), expected, atol=1e-6)
    assert base.adapter.attached


def test_threads_ask_several_adapters_on_one_encoder(tmp_path):
    base = make_task()
    expected = {"base": answer(base)}
    tasks = {"base": base}
    for seed, kind in enumerate((Lora(rank=2), Bias()), 1):
        expected[kind.kind] = save_adapted(tmp_path / kind.kind, base, kind, seed)
    for name in ("lora", "bias"):
        tasks[name] = load_adapter(tmp_path / name, base)
    with ThreadPoolExecutor(4) as pool:
        names = [*tasks, "base"] * 10
        for name, outputs in zip(names, pool.map(lambda name: answer(tasks[name]), names), strict=True):
            np.testing.assert_allclose(outputs, expected[name], atol=1e-6)


def test_threads_with_the_same_adapter_run_side_by_side():
    task = make_task(make_encoder(num_layers=1))
    task.adapt(Lora(rank=2))
    both = threading.Barrier(2, timeout=60)

    def ask(outputs):
        both.wait()  # the other thread is inside its call, too
        return outputs

    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda _: list(task.outputs(TEXTS, keep=ask)), range(2)))) == 2


def test_an_adapter_is_not_merged_under_another(tmp_path):
    base = make_task()
    expected = save_adapted(tmp_path, base, Bias())
    task = load_adapter(tmp_path, base)
    base.adapt(Lora(rank=2))
    with pytest.raises(ValueError, match=r"must be the only one of its encoder to be merged: .* drop that one"):
        base.merge_adapter()
    np.testing.assert_allclose(answer(task), expected, atol=1e-6)
    task.drop_adapter()
    base.merge_adapter()


def test_an_adapter_is_not_merged_into_a_quantized_kernel():
    task = make_task()
    task.adapt(Lora(rank=2)).thaw()
    quantize(task).finish()
    disturb(task.adapter)
    before = answer(task)
    with pytest.raises(ValueError, match=r"before quantization: the kernel of '.*' lies on a grid of 8 bits"):
        task.merge_adapter()
    assert task.adapter.attached
    np.testing.assert_array_equal(answer(task), before)


@pytest.mark.parametrize(
    ("kind", "way_out"), [(Lora(rank=2), r"merge_adapter\(\) first.*to_peft"), (Adapters(size=3), "LiteRT")]
)
def test_transformers_has_no_place_for_an_adapter(kind, way_out, tmp_path):
    from keras_bert.interop.hugging_face import to_hugging_face

    task = make_task(pooling="cls")
    adapter = task.adapt(kind)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=rf"Classification.adapter must be merged or dropped .* got .*: .*{way_out}"
        ):
            to_hugging_face(task, tmp_path / "there")
        adapter.detach()


def test_biases_are_written_for_transformers_attached_or_not(tmp_path):
    from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face

    task = make_task(pooling="cls")
    adapter = task.adapt(Bias())
    disturb(adapter)
    expected = answer(task)
    adapter.detach()
    to_hugging_face(task, tmp_path / "there")
    np.testing.assert_allclose(answer(from_hugging_face(tmp_path / "there")), expected, atol=1e-5)
