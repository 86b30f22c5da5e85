"""What every graph besides BERT's has: refused shapes, a configuration in JSON, padding that changes nothing."""

import json

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig, EncoderShape
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.models.encoder import build_encoder, config_of, encoder_of, input_names, padding_effect
from keras_bert.models.pretraining import build_pretraining
from keras_bert.models.saving import load_model, save_model
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.models.test_encoder import make_inputs, randomize
from tests.keras_bert.tiny import tiny_config

CONFIGS = {
    "bigbird": tiny_config(variant=BigBird(block_size=4)),
    "deberta": tiny_config(
        num_segments=0, pooler_activation="gelu_erf", variant=DeBERTa(position_buckets=4, max_distance=6, convolution=3)
    ),
    "longformer": tiny_config(num_segments=1, variant=Longformer(windows=(2, 4))),
    "mobilebert": tiny_config(embedding_size=3, variant=MobileBERT(bottleneck_size=4, feed_forwards=3)),
    "mobilebert tiny": tiny_config(
        embedding_size=3, variant=MobileBERT(bottleneck_size=4, feed_forwards=2, bottleneck_attention=True)
    ),
    "mobilebert teacher": tiny_config(
        embedding_size=3, variant=MobileBERT(bottleneck_size=12, feed_forwards=1, normalization="layer_norm")
    ),
    "gated": tiny_config(activation="silu", variant=Gated(position_scale=1.5)),
    "gated, linear": tiny_config(num_heads=4, variant=Gated(positions="linear", attention_bias=True)),
    "pre norm": tiny_config(variant=PreNorm(embeddings_norm=False)),
    "mpnet": tiny_config(num_segments=0, variant=MPNet(position_buckets=8, max_distance=6)),
    "modernbert": tiny_config(num_segments=0, variant=ModernBERT(window=2, global_layers=(1,), embedding_dropout=0.2)),
}


@pytest.fixture(scope="module", params=CONFIGS)
def model(request):
    model = build_pretraining(build_encoder(CONFIGS[request.param], pooler=False), next_sentence=False)
    randomize(model)
    return model


def test_padding_changes_nothing(model):
    encoder, inputs = encoder_of(model), make_inputs(batch=4, length=5)
    inputs["padding_mask"][:] = 1
    rng = np.random.default_rng(2)
    # Tokens, segments and mask of the padding.
    padding = {name: rng.integers(0, high, (4, 4)) for name, high in zip(inputs, (20, 2, 1), strict=True)}
    whole, padded = (
        {name: values[name].astype("int32") for name in input_names(encoder)}
        for values in (inputs, {name: np.concatenate([inputs[name], padding[name]], axis=1) for name in inputs})
    )
    states = np.asarray(encoder(padded)["sequence_output"])[:, :5]
    np.testing.assert_allclose(states, encoder(whole)["sequence_output"], atol=1e-5)
    assert padding_effect(encoder) < 1e-5


def test_scores_beyond_the_mask_are_found():
    """As in a MobileBERT without norms, whose states have no bound."""
    encoder = build_encoder(tiny_config(embedding_size=3, variant=MobileBERT(bottleneck_size=4)), pooler=False)
    randomize(encoder)
    weights = [weight for weight in encoder.weights if weight.path.endswith(("query/kernel", "key/kernel"))]
    for weight in weights:
        weight.assign(weight.numpy() * 100)
    assert padding_effect(encoder) > 1e-3


def test_saved_model_has_its_configuration_and_answers(model, tmp_path):
    save_model(model, tmp_path / "model.keras")
    loaded = load_model(tmp_path / "model.keras")
    assert config_of(loaded) == config_of(model)
    assert config_of(loaded) in CONFIGS.values()
    inputs = {**make_inputs(), "mask_positions": np.array([[0, 3], [1, 0], [6, 2]], "int32")}
    inputs = {spec.name: inputs[spec.name] for spec in model.inputs}
    np.testing.assert_array_equal(loaded(inputs)["masked_tokens"], model(inputs)["masked_tokens"])


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_in_json_and_back(name):
    assert EncoderConfig.from_dict(json.loads(json.dumps(CONFIGS[name].as_dict()))) == CONFIGS[name]


def test_unknown_graph_is_refused():
    with pytest.raises(ValueError, match=r"Variant.kind must be one of .*'deberta'.*'modernbert'.*, got 'entangled'"):
        EncoderConfig.from_dict({**tiny_config().as_dict(), "variant": {"kind": "entangled"}})


@pytest.mark.parametrize(
    ("variant", "changes", "message"),
    [
        (BigBird(), {"shared_layers": True}, "shared_layers must be False with the variant 'bigbird', got True"),
        (
            Longformer(windows=(4, 4)),
            {"num_layers": 3},
            r"windows must hold one window for each of num_layers=3, got \(4, 4\)",
        ),
        (Longformer(), {"shared_layers": True}, "shared_layers must be False with the variant 'longformer', got True"),
        (
            MobileBERT(bottleneck_size=6),
            {"num_heads": 4, "embedding_size": 3},
            "variant.bottleneck_size must be a multiple of num_heads=4, got 6",
        ),
        (MobileBERT(bottleneck_size=6), {}, "embedding_size must be set and below hidden_size=8 .*, got None"),
        (
            MobileBERT(bottleneck_size=6),
            {"embedding_size": 8},
            "embedding_size must be set and below hidden_size=8 .*, got 8",
        ),
        (
            MobileBERT(bottleneck_size=6),
            {"embedding_size": 3, "shared_layers": True},
            "shared_layers must be False in a bottleneck encoder, got True",
        ),
        (Gated(), {"position_offset": 2}, "position_offset must be 0 with the variant 'gated', got 2"),
        (Gated(), {"hidden_size": 6}, "hidden_size must give heads of an even size, got 6"),
        (ModernBERT(), {"num_segments": 2}, "num_segments must be 0 with the variant 'modernbert', got 2"),
        (ModernBERT(), {"position_offset": 2}, "position_offset must be 0 with the variant 'modernbert', got 2"),
        (ModernBERT(), {"embedding_size": 4}, "embedding_size must be None with the variant 'modernbert', got 4"),
        (ModernBERT(), {"shared_layers": True}, "shared_layers must be False with the variant 'modernbert', got True"),
        (ModernBERT(), {"hidden_size": 6}, "hidden_size must give heads of an even size, got 6"),
        (ModernBERT(global_layers=(0, 2)), {}, r"global_layers must be below num_layers=2, got \(0, 2\)"),
    ],
)
def test_shape_is_refused(variant, changes, message):
    shape = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 6}
    segments = {"num_segments": 0} if isinstance(variant, ModernBERT) else {}
    with pytest.raises(ValueError, match=rf"^EncoderShape\.{message}"):
        EncoderShape(**{**shape, **segments, **changes}, variant=variant)


def test_a_head_is_the_last_layer_and_linear_in_its_inputs(model):
    encoder = encoder_of(model)
    inputs = make_inputs(batch=2, length=5)
    values = {name: inputs[name] for name in input_names(encoder)}
    pooled = build_classifier(encoder, 3, pooling="mean"), build_regressor(encoder, pooling="mean")
    for built in (*pooled, build_tagger(encoder, 3)):
        head = built.layers[-1]
        vectors = np.asarray(keras.Model(built.input, head.input)(values, training=False))
        expected = np.asarray(built(values, training=False))
        np.testing.assert_allclose(vectors @ head.kernel.numpy() + head.bias.numpy(), expected, atol=1e-5)
