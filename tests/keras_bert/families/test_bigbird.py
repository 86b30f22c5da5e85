"""What of BigBird's files is read how, and what is refused."""

import numpy as np
import pytest

from keras_bert.families.bigbird.layers import PLANNED_LENGTHS, BigBirdAttention, draw_blocks, draw_planned_blocks
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.bigbird.span_head import QuestionBias, SpanTransform
from keras_bert.families.registry import FAMILIES
from keras_bert.interop import hugging_face_config
from keras_bert.interop.configs import Head
from tests.keras_bert.families import long_attention as long
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json
from tests.keras_bert.interop.test_families import unpack
from tests.samples import long_but


@pytest.fixture
def folder(tmp_path):
    return unpack(GOLDEN / "families" / "BigBirdForSequenceClassification.npz", tmp_path / "theirs")[0]


def read(folder):
    family, content = hugging_face_config.read_config(folder)
    return hugging_face_config.read_encoder(folder, family, content)


def test_a_file_that_says_little_is_read_as_transformers_reads_it(folder):
    keys = ("attention_type", "block_size", "num_random_blocks", "hidden_act", "type_vocab_size")
    change_json(folder / "config.json", **dict.fromkeys((*keys, "max_position_embeddings")))
    config = read(folder)
    assert (config.variant, config.max_length, config.num_segments) == (BigBird(), 4096, 2)


def test_a_classifier_on_a_pooler_is_none_of_theirs(folder):
    config, family = read(folder), FAMILIES["big_bird"]
    assert config.pooler_activation == config.activation == "gelu_tanh"
    head = Head(task="classification", labels=("a", "b"), dropout=0.1)
    assert hugging_face_config.write_config(config, head, family, 0, 3)["sep_token_id"] == 3
    with pytest.raises(
        ValueError, match=r"pooler_activation must be 'tanh' under a head for pretraining, .*'gelu_tanh'"
    ):
        hugging_face_config.write_config(config, Head(task="pretraining", next_sentence=True), family, 0, 3)


SIZE, COUNT = 2, 1


def make(attention="block_sparse", **changes):
    variant = BigBird(block_size=SIZE, random_blocks=COUNT, attention=attention)
    layer = BigBirdAttention(long.config(variant, **changes), 1)
    layer.build((None, None, long.HIDDEN), None)
    return layer


def times_seen(length, training):
    """How often each block of queries sees each block of keys: (heads, blocks, blocks)."""
    blocks = -(-length // SIZE)
    if length <= (5 + 2 * COUNT) * SIZE:
        return np.ones((long.HEADS, blocks, blocks))
    drawn = draw_blocks(blocks, long.HEADS, COUNT, 1)
    seen = np.zeros((long.HEADS, blocks, blocks))
    for head in range(long.HEADS):
        for row in range(blocks):
            seen[head, row, [0, -1, row, max(row - 1, 0), min(row + 1, blocks - 1)]] = 1
            if row in (0, blocks - 1):
                seen[head, row] = 1
            elif training:
                seen[head, row, drawn[head, row - 1]] += 1
            else:
                seen[head, row, 0] += COUNT
    return seen


def expected(layer, x, mask, training):
    """As section 2 has it, over all pairs."""
    length = x.shape[1]
    times = times_seen(length, training).repeat(SIZE, axis=1).repeat(SIZE, axis=2)[:, :length, :length]
    weights = np.where(times > 0, np.log(np.maximum(times, 1e-9)), -1e9)
    context = long.attend(layer, long.scores_of(layer, x) + weights + long.bias_of(mask), x)
    return np.asarray(layer.output_projection(context.astype("float32")))


# A single token sees itself alone.
@pytest.mark.filterwarnings("ignore:You are using a softmax over axis:UserWarning")
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("length", long_but((1, 15, 21), (1, 14, 15, 16, 21)))
def test_as_over_all_pairs(length, training):
    layer, x = make(), long.states(length)
    mask = np.ones((2, length), "int32")
    mask[1, max(1, length // 2) :] = 0
    outputs = np.asarray(layer(x, long.bias_of(mask), training=training))
    real = mask == 1
    np.testing.assert_allclose(outputs[real], expected(layer, x, mask, training)[real], atol=2e-5)


def test_a_block_off_by_one_would_be_found(monkeypatch):
    x, mask = long.states(21), np.ones((2, 21), "int32")
    layer = make()
    right = expected(layer, x, mask, training=False)
    monkeypatch.setattr("tests.keras_bert.families.test_bigbird.SIZE", 3)
    assert np.abs(np.asarray(layer(x, long.bias_of(mask))) - right).max() < 2e-5
    assert np.abs(expected(layer, x, mask, training=False) - right).max() > 1e-3


def test_full_attention_whatever_the_length():
    layer, x, mask = make("full"), long.states(21), np.ones((2, 21), "int32")
    context = long.attend(layer, long.scores_of(layer, x), x)
    expected = layer.output_projection(context.astype("float32"))
    np.testing.assert_allclose(layer(x, long.bias_of(mask)), expected, atol=2e-5)


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="of graphs whose lengths are not known when they are made")
@pytest.mark.parametrize("training", [False, True])
def test_lengths_that_are_not_known(training):
    import tensorflow as tf

    layer = make(max_length=1100)
    unknown = [tf.TensorSpec((None, None, long.HIDDEN)), tf.TensorSpec((None, 1, 1, None))]
    call = tf.function(lambda x, bias: layer(x, bias, training=training), input_signature=unknown)
    # The last is one of those with a plan of its own.
    for length in (3, 14, 15, 20, 1024):
        x, bias = long.states(length, 1), long.bias_of(np.ones((1, length)))
        np.testing.assert_allclose(call(x, bias), layer(x, bias, training=training), atol=2e-6)


@pytest.mark.skipif(not long.ON_TENSORFLOW, reason="looks at TensorFlow's graph")
@pytest.mark.parametrize("training", [False, True])
def test_memory_grows_with_the_length(training):
    sizes = {}
    for length in (64, 128):
        sizes[length], made = long.largest(
            make(max_length=128), (2, length, long.HIDDEN), (2, 1, 1, length), training=training
        )
        assert not any(sum(size >= length for size in shape) > 1 for shape in made)
    assert sizes[128] <= 2.2 * sizes[64]


TABLES = dict(np.load(GOLDEN / "random_blocks.npz"))


@pytest.mark.parametrize("case", TABLES)
def test_as_transformers_draws_them(case):
    tokens, positions, size, count, heads, seed = map(int, case.split("-"))
    if tokens in PLANNED_LENGTHS:
        blocks = draw_planned_blocks(positions, size, heads, count, seed)[:, : tokens // size - 2]
    else:
        blocks = draw_blocks(tokens // size, heads, count, seed)
    np.testing.assert_array_equal(blocks, TABLES[case])


def test_fewer_rows_no_blocks_and_blocks_that_are_too_large():
    np.testing.assert_array_equal(draw_blocks(12, 2, 2, 3), draw_blocks(20, 2, 2, 3)[:, :10])
    assert draw_blocks(9, 2, 0, 0).shape == (2, 7, 0)
    with pytest.raises(ValueError, match=r"BigBird.block_size must leave 3 blocks to draw from .*, got 256"):
        draw_planned_blocks(4096, 256, 1, 3, 0)


def test_up_to_which_length_a_text_is_seen_whole():
    # transformers: (5 + 2 x num_random_blocks) x block_size.
    assert BigBird().longest_full == 704
    assert BigBird(block_size=2, random_blocks=0).longest_full == 10


def test_the_question_is_hidden_but_for_its_first_token():
    ids = np.array([[0, 7, 7, 2, 7, 2], [0, 7, 2, 5, 2, 1]], "int32")
    padding = np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, -120]], "float32")[:, None, None, :]
    bias = np.asarray(QuestionBias(2)(ids, padding))[:, 0, 0]
    assert bias.tolist() == [[0, -120, -120, -120, 0, 0], [0, -120, -120, 0, 0, -120]]


def test_a_residual_around_a_feed_forward_layer():
    layer, x = SpanTransform(6, "relu", 0.0, 1e-12, 0.5), np.random.default_rng(0).normal(size=(2, 3, 4))
    x = x.astype("float32")
    outputs = np.asarray(layer(x))
    first, second = (
        part.kernel.numpy() for part in (layer.feed_forward.intermediate, layer.feed_forward.output_projection)
    )
    total = x + np.maximum(x @ first, 0) @ second
    expected = (total - total.mean(-1, keepdims=True)) / total.std(-1, keepdims=True)
    np.testing.assert_allclose(outputs, expected, atol=2e-5)
    assert SpanTransform.from_config(layer.get_config()).get_config() == layer.get_config()
