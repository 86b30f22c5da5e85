"""Few weights beside a frozen encoder."""

import json

import keras
import numpy as np
import pytest

from keras_bert.adaptation.files import SETTINGS_FILE, WEIGHTS_FILE
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.longformer.settings import Longformer
from keras_bert.options.adaptation import Adapters, Bias, Lora, Prompt
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.registry import TASKS, load_adapter
from tests.keras_bert.tasks.test_every_task import SINGLE_TASKS, build
from tests.keras_bert.tasks.tiny import make_encoder, make_tokenizer
from tests.keras_bert.tiny import EAGER
from tests.samples import long_but

KINDS = (Lora(rank=2), Adapters(size=3), Prompt(tokens=4), Bias())
NAMES = [kind.kind for kind in KINDS]
TEXTS = ["a good film", "bad", "very very bad film ."]


def make_task(encoder=None, seed=0, **changes):
    keras.utils.set_random_seed(seed)
    settings = {"labels": ["bad", "good"], "max_length": 30, "pooling": "mean", **changes}
    return Classification.build(encoder or make_encoder(num_layers=1), make_tokenizer(), **settings)


def disturb(adapter, seed=0, spread=0.3):
    """As training would: other values for all that it may change."""
    rng = np.random.default_rng(seed)
    with adapter.active():
        for weight in adapter.weights().values():
            weight.assign(weight.numpy() + rng.normal(0, spread, weight.shape))


def answer(task):
    return np.stack(list(task.outputs(TEXTS)))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_training_moves_the_adapter_and_the_head_alone(kind):
    task = make_task()
    adapter = task.adapt(kind)
    named = set(adapter.weights())
    assert {weight.path for weight in task.model.trainable_weights} == named
    before = {weight.path: weight.numpy() for weight in task.model.weights}
    task.compile(keras.optimizers.SGD(0.5), **EAGER)
    task.model.fit(*task.examples(TEXTS, ["good", "bad", "bad"]), verbose=0)
    moved = {weight.path for weight in task.model.weights if not np.array_equal(weight.numpy(), before[weight.path])}
    moved = {path for path in moved if "seed_generator" not in path}
    # The first of two thin matrices has no gradient before the second has left zero.
    assert moved == {path for path in named if not path.endswith("low_rank/down")}
    adapter.detach()
    assert len(task.model.trainable_weights) == len(make_task().model.weights)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        (Lora(rank=2), 2 * 2 * (16 + 16)),
        (Lora(rank=3, layers=("intermediate",)), 3 * (16 + 32)),
        (Adapters(size=3), 2 * (16 * 3 + 3 + 3 * 16 + 16)),
        (Prompt(tokens=4), 4 * 16),
        (Bias(), 16 * (1 + 4 + 1 + 1 + 1) + 32),
    ],
)
def test_how_many_weights_learn(kind, extra):
    task = make_task()
    head = 16 * 2 + 2
    count = sum(int(np.prod(weight.shape)) for weight in task.adapt(kind).weights().values())
    assert count == extra + head


def test_a_prompt_of_known_tokens_says_what_these_tokens_in_front_say():
    encoder = make_encoder()
    task = TASKS["token_classification"].build(encoder, make_tokenizer(), labels=["O", "B-x"], max_length=30)
    features = {
        "token_ids": np.array([[5, 6, 7, 8, 9, 0]], "int32"),
        "segment_ids": np.array([[0, 0, 0, 0, 1, 0]], "int32"),
        "padding_mask": np.array([[1, 1, 1, 1, 1, 0]], "int32"),
    }
    whole = task.model(features)
    task.adapt(Prompt(tokens=2))
    table = encoder.get_layer("token_embedding")
    table.adapter.vectors.assign(table.embeddings.numpy()[[5, 6]])
    rest = task.model({name: value[:, 2:] for name, value in features.items()})
    np.testing.assert_allclose(rest, whole[:, 2:], atol=1e-5)
    task.drop_adapter()
    np.testing.assert_array_equal(task.model(features), whole)


@pytest.mark.parametrize("kind", [Lora(rank=2), Lora(layers=("value", "output_projection"), alpha=1.0), Bias()])
def test_merged_it_says_the_same(kind):
    task = make_task(pooling="cls")
    plain = answer(task)
    disturb(task.adapt(kind))
    adapted = answer(task)
    assert np.abs(adapted - plain).max() > 0.1
    task.merge_adapter()
    np.testing.assert_allclose(answer(task), adapted, atol=1e-6)
    assert task.adapter is None
    assert all(weight.trainable for weight in task.encoder.weights)


@pytest.mark.parametrize("kind", [Adapters(), Prompt(tokens=3)])
def test_some_cannot_be_merged(kind):
    task = make_task()
    task.adapt(kind)
    with pytest.raises(ValueError, match="cannot be merged"):
        task.merge_adapter()


@pytest.mark.parametrize("kind", long_but(KINDS[:1] + KINDS[2:3], KINDS), ids=NAMES)
def test_several_on_one_base(kind, tmp_path):
    base = make_task(pooling="cls")
    alone = answer(base)
    expected = {}
    for seed in (1, 2):
        task = make_task(base.encoder, pooling=("mean", "cls")[seed - 1])
        disturb(task.adapt(kind), seed)
        expected[seed] = answer(task)
        task.save_adapter(tmp_path / str(seed))
        task.adapter.detach()
    assert np.abs(expected[1] - expected[2]).max() > 0.1
    tasks = {seed: load_adapter(tmp_path / str(seed), base) for seed in (1, 2)}
    for _ in range(2):
        for seed, task in tasks.items():
            np.testing.assert_allclose(answer(task), expected[seed], atol=1e-6)
            np.testing.assert_allclose(answer(base), alone, atol=1e-6)


@pytest.mark.parametrize("name", SINGLE_TASKS)
def test_every_task_is_saved_with_its_adapter(name, tmp_path):
    task = build(name, make_encoder(num_layers=1))
    disturb(task.adapt(KINDS[0]))
    task.save_adapter(tmp_path / "alone")
    plain = build(name, task.encoder)
    task.adapter.detach()
    again = load_adapter(tmp_path / "alone", plain)
    assert again.settings() == task.settings()
    with again.adapter.active():
        weights = {path: weight.numpy() for path, weight in again.adapter.weights().items()}
    with task.adapter.active():
        for path, weight in task.adapter.weights().items():
            np.testing.assert_array_equal(weights[path], weight.numpy())


def test_an_adapter_that_is_there():
    task = make_task()
    task.adapt(Lora())
    with pytest.raises(ValueError, match=r"Classification.adapter must be None before another is trained"):
        task.adapt(Bias())
    with pytest.raises(ValueError, match=r"Classification.adapter must be there to be merged, got None"):
        make_task().merge_adapter()
    with pytest.raises(ValueError, match=r"Classification.adapter must be there to be saved, got None"):
        make_task().save_adapter("nowhere")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Lora(layers=("qeury",)), r"Lora.layers must be among \[.*\], got 'qeury'; the nearest is 'query'"),
        (Prompt(tokens=11), "Prompt.tokens must leave room for max_length=30 in the encoder's 40 positions, got 11"),
        (Prompt(tokens=40), "Prompt.tokens must be below the encoder's 40 positions, got 40"),
    ],
)
def test_an_encoder_without_a_place_for_it(kind, message):
    task = make_task()
    with pytest.raises(ValueError, match=message):
        task.adapt(kind)
    assert task.adapter is None
    assert all(weight.trainable for weight in task.encoder.weights)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Lora, {"rank": 0}, "Lora.rank must be positive, got 0"),
        (Lora, {"alpha": 0.0}, "Lora.alpha must be positive, got 0.0"),
        (Lora, {"dropout": 1.0}, r"Lora.dropout must be below 1, got 1.0"),
        (Lora, {"layers": ()}, r"Lora.layers must not be empty, got \(\)"),
        (Adapters, {"size": 0}, "Adapters.size must be positive, got 0"),
        (Prompt, {"tokens": 0}, "Prompt.tokens must be positive, got 0"),
    ],
)
def test_settings_of_no_use(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


@pytest.fixture
def saved(tmp_path):
    task = make_task()
    task.adapt(Lora())
    task.save_adapter(tmp_path / "adapter")
    task.adapter.detach()
    return task, tmp_path / "adapter"


def test_an_adapter_of_another_encoder(saved):
    _, folder = saved
    with pytest.raises(ValueError, match="was trained beside another encoder"):
        load_adapter(folder, make_task(seed=7))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said["task"].update(task="poetry"), r"adapter\.json: task must be one of .*, got 'poetry'"),
        (lambda said: said["task"].update(colour=1), r"adapter\.json must hold the settings of .*, got .*'colour': 1"),
        (lambda said: said.pop("base"), r"adapter\.json .*must hold an adapter's settings: KeyError: 'base'"),
        (
            lambda said: said["adaptation"].update(layers=5),
            r"adapter\.json .*settings: FieldError: Adaptation.layers must be a valid array",
        ),
        (
            lambda said: said["adaptation"].update(layers=[[]]),
            r"adapter\.json .*Adaptation.layers.0 must be a valid string, got ",
        ),
        (
            lambda said: said["adaptation"].update(layers=["poetry"]),
            r"adapter\.json .*must suit the encoder: Lora.layers must be among",
        ),
        (lambda said: said["adaptation"].update(kind="lorra"), r"Adaptation.kind must be one of 'lora', .*got 'lorra'"),
        (lambda said: said["adaptation"].update(rank=3), r"low_rank/.*' must have the shape \(.*3.*\), got \(.*8.*\)"),
    ],
)
def test_what_an_adapter_says_of_itself(saved, change, message):
    task, folder = saved
    said = json.loads((folder / SETTINGS_FILE).read_text())
    change(said)
    (folder / SETTINGS_FILE).write_text(json.dumps(said))
    with pytest.raises(ValueError, match=message):
        load_adapter(folder, task)


def test_damaged_and_missing_files(saved):
    task, folder = saved
    whole = (folder / WEIGHTS_FILE).read_bytes()
    (folder / WEIGHTS_FILE).write_bytes(whole[:-5])
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        load_adapter(folder, task)
    for name in (WEIGHTS_FILE, SETTINGS_FILE):
        (folder / name).unlink()
        with pytest.raises(FileNotFoundError, match=f"it has no {name}"):
            load_adapter(folder, task)


LONG = {"windows": Longformer(window=2), "blocks": BigBird(block_size=1, random_blocks=1)}


@pytest.mark.parametrize("variant", LONG.values(), ids=LONG)
@pytest.mark.parametrize("kind", long_but(KINDS[:1] + KINDS[2:3], KINDS), ids=NAMES)
def test_attention_that_does_not_reach_everywhere(kind, variant):
    task = make_task(make_encoder(num_layers=1, variant=variant))
    before = answer(task)
    adapter = task.adapt(kind)
    disturb(adapter)
    assert not np.allclose(answer(task), before)
    if isinstance(kind, Lora):
        assert {path.split("/")[-3] for path in adapter.weights() if "low_rank" in path} == {"query", "value"}
    adapter.detach()
    disturb_head = answer(task)
    assert disturb_head.shape == before.shape


def test_a_prompt_is_global_where_some_tokens_are():
    """Else none but the tokens beside it would see it: with a window of one token to each side, the first alone."""
    task = make_task(make_encoder(num_layers=1, variant=Longformer(window=2)))
    inputs = {"token_ids": np.arange(9, dtype="int32")[None], "padding_mask": np.ones((1, 9), "int32")}
    inputs["segment_ids"] = inputs["padding_mask"] * 0
    adapter = task.adapt(Prompt(tokens=4))
    encoder = task.encoder
    before = np.asarray(encoder(inputs)["sequence_output"])
    disturb(adapter)
    after = np.asarray(encoder(inputs)["sequence_output"])
    assert after.shape == before.shape
    assert (after != before).any(axis=-1).all()
