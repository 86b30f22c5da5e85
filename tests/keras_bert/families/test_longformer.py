"""What of Longformer's files is read how, and what is refused."""

import numpy as np
import pytest

from keras_bert.families.longformer.layers import GlobalTokens, LongformerAttention
from keras_bert.families.longformer.settings import Longformer
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model
from keras_bert.layers.separator import SeparatorReader
from keras_bert.models.global_tokens import global_tokens_of
from tests.keras_bert.families import long_attention as long
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json
from tests.keras_bert.interop.test_families import unpack
from tests.samples import long_but


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "LongformerForQuestionAnswering.npz", tmp_path / "theirs")[0]


def read(folder):
    family, content = hugging_face_config.read_config(folder)
    return hugging_face_config.read_encoder(folder, family, content)


@pytest.mark.parametrize(
    ("said", "variant"),
    [
        (None, Longformer(window=512)),
        (6, Longformer(window=6)),
        ([6, 6], Longformer(window=6)),
        ([6, 8], Longformer(windows=(6, 8))),
    ],
)
def test_one_window_or_one_for_each_layer(folder, said, variant):
    change_json(folder / "config.json", attention_window=said)
    assert read(folder).variant == variant


def test_the_separator_of_questions(folder):
    chosen = global_tokens_of(read_model(folder))
    assert (chosen.kind, chosen.separator) == ("question", 3)
    change_json(folder / "config.json", sep_token_id=None)
    assert global_tokens_of(read_model(folder)).separator == 2  # as transformers takes it for granted
    change_json(folder / "config.json", sep_token_id="</s>")
    with pytest.raises(ValueError, match=r"config.json: sep_token_id must be a whole number, got '</s>'"):
        read_model(folder)


NONE = np.zeros((2, 0), "int32")


def make(window=4):
    layer = LongformerAttention(long.config(Longformer(window=window)), 0)
    layer.build((None, None, long.HIDDEN), None, None)
    return layer


def expected(layer, x, mask, chosen, reach):
    """As section 3.1 has it, over all pairs: a window, global tokens for all, and all for global tokens."""
    length, first = x.shape[1], chosen.shape[1]
    places = np.arange(length)
    near = np.abs(places[:, None] - places[None, :]) <= reach
    is_global = np.pad(chosen, ((0, 0), (0, length - first))).astype(bool) & (mask == 1)
    seen = (near[None] | is_global[:, None, :]) & (mask[:, None, :] == 1)
    hidden = np.where(seen, 0, -1e9)[:, None]
    around = long.attend(layer, long.scores_of(layer, x) + hidden, x)
    of_all = long.attend(layer, long.scores_of(layer, x, "global_") + long.bias_of(mask), x, "global_")
    context = np.where(is_global[:, :, None], of_all, around)
    return np.asarray(layer.output_projection(context.astype("float32")))


# A single token sees itself alone.
@pytest.mark.filterwarnings("ignore:You are using a softmax over axis:UserWarning")
@pytest.mark.parametrize("length", long_but((1, 5, 13), (1, 2, 5, 8, 13)))
@pytest.mark.parametrize("most", long_but((0, 6), (0, 1, 6)))
def test_as_over_all_pairs(length, most):
    layer, x = make(), long.states(length)
    mask = np.ones((2, length), "int32")
    mask[1, max(1, length // 2) :] = 0
    chosen = mask[:, :most] * np.array(
        [[1] * min(most, length), [1, *[0] * (min(most, length) - 1)][: min(most, length)]]
    )
    outputs = np.asarray(layer(x, long.bias_of(mask), chosen.astype("int32")))
    real = mask == 1
    np.testing.assert_allclose(outputs[real], expected(layer, x, mask, chosen, 2)[real], atol=2e-5)


@pytest.mark.parametrize("wrong", [1, 3])
def test_a_window_off_by_one_would_be_found(wrong):
    layer, x, mask = make(), long.states(13), np.ones((2, 13), "int32")
    outputs = np.asarray(layer(x, long.bias_of(mask), NONE))
    assert np.abs(outputs - expected(layer, x, mask, NONE, wrong)).max() > 1e-3


def test_how_far_tokens_and_layers_see():
    layer, x, mask = make(window=6), long.states(20, 1), np.ones((1, 20), "int32")
    other = x.copy()
    other[:, 10] += 1
    before, after = (np.asarray(layer(states, long.bias_of(mask), NONE[:1])) for states in (x, other))
    assert np.flatnonzero((before != after).any(axis=(0, 2))).tolist() == list(range(7, 14))
    assert [Longformer().reach(layer) for layer in range(2)] == [256, 256]
    assert [Longformer(windows=(2, 8)).reach(layer) for layer in range(2)] == [1, 4]
    variant = Longformer(windows=(2, 8, 8))
    assert variant.of_layers((0, 2)) == Longformer(windows=(2, 8))
    assert variant.of_layers((1, 2)) == Longformer(window=8)
    assert Longformer(window=6).of_layers((1,)) == Longformer(window=6)


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="looks at TensorFlow's graph")
@pytest.mark.parametrize("first", [0, 1])
def test_memory_grows_with_the_length(first):
    sizes = {}
    for length in (64, 128):
        shapes = (2, length, long.HIDDEN), (2, 1, 1, length), (2, first)
        sizes[length], made = long.largest(make(), *shapes)
        assert not any(sum(size >= length for size in shape) > 1 for shape in made)
    assert sizes[128] == 2 * sizes[64]


IDS = np.array([[0, 7, 7, 2, 7, 2], [0, 7, 2, 5, 2, 1]], "int32")
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]], "int32")


def test_tokens_before_the_first_separator_and_no_padding():
    assert np.asarray(SeparatorReader(2).before_separator(IDS)).tolist() == [[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0]]
    assert np.asarray(GlobalTokens("first")(IDS[:1], MASK[:1] * 0)).tolist() == [[0]]


@pytest.mark.parametrize(
    ("settings", "prompt", "expected"),
    [
        ({}, 0, [[], []]),
        ({"kind": "first"}, 0, [[1], [1]]),
        ({"kind": "question", "most": 4, "separator": 2}, 0, [[1, 1, 1, 0], [1, 1, 0, 0]]),
        ({"kind": "question", "most": 2, "separator": 2}, 0, [[1, 1], [1, 1]]),
        ({"kind": "question", "most": 9, "separator": 7}, 0, [[1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]),
        # A prompt is global, and what the text itself is begins behind it.
        ({}, 2, [[1, 1], [1, 1]]),
        ({"kind": "question", "most": 3, "separator": 2}, 1, [[1, 1, 1, 0], [1, 1, 0, 0]]),
    ],
)
def test_which_tokens_are_global(settings, prompt, expected):
    layer = GlobalTokens(**settings)
    layer.tokens = prompt
    assert np.asarray(layer(IDS, MASK)).tolist() == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"most": 0}, "GlobalTokens.most must be at least 1, got 0"),
        ({"kind": "question"}, "GlobalTokens.separator must be set where the question's tokens are global, got None"),
    ],
)
def test_refuses_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        GlobalTokens(**settings)
