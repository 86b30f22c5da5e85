import dataclasses

import pytest

from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.presets import PRESETS, RELEASED, VOCABULARY_SIZES, preset
from keras_bert.families.registry import family_of
from keras_bert.models.encoder import build_encoder

# Turc et al. 2019, table 1, and the released checkpoints, as transformers' BertModel counts them.
SIZES = {
    ("tiny", "uncased"): 4_385_920,
    ("mini", "uncased"): 11_170_560,
    ("small", "uncased"): 28_763_648,
    ("medium", "uncased"): 41_373_184,
    ("base", "uncased"): 109_482_240,
    ("base", "cased"): 108_310_272,
    ("base", "multilingual"): 177_853_440,
    ("base", "chinese"): 102_267_648,
    ("large", "uncased"): 335_141_888,
    ("large", "cased"): 333_579_264,
}
# As the models of transformers 5.23.0 count theirs; DistilBERT's, ELECTRA's, ModernBERT's and DeBERTa's have no pooler.
COUNTS = {
    "roberta-base": ("roberta", 124_645_632),
    "roberta-large": ("roberta", 355_359_744),
    "distilroberta-base": ("roberta", 82_118_400),
    "xlm-roberta-base": ("roberta", 278_043_648),
    "xlm-roberta-large": ("roberta", 559_890_432),
    "camembert-base": ("roberta", 110_621_952),
    "distilbert-base-uncased": ("distilbert", 66_362_880),
    "distilbert-base-cased": ("distilbert", 65_190_912),
    "electra-small-discriminator": ("electra", 13_483_008),
    "electra-base-discriminator": ("electra", 108_891_648),
    "electra-large-discriminator": ("electra", 334_092_288),
    "albert-base-v2": ("albert", 11_683_584),
    "albert-large-v2": ("albert", 17_683_968),
    "albert-xlarge-v2": ("albert", 58_724_864),
    "albert-xxlarge-v2": ("albert", 222_595_584),
    "mpnet-base": ("mpnet", 109_486_464),
    "modernbert-base": ("modernbert", 149_014_272),
    "modernbert-large": ("modernbert", 394_781_696),
    "deberta-base": ("deberta", 138_601_728),
    "deberta-large": ("deberta", 405_163_008),
    "deberta-xlarge": ("deberta", 757_804_032),
    "deberta-v2-xlarge": ("deberta-v2", 884_593_152),
    "deberta-v2-xxlarge": ("deberta-v2", 1_564_549_632),
    "deberta-v3-xsmall": ("deberta-v2", 70_682_112),
    "deberta-v3-small": ("deberta-v2", 141_304_320),
    "deberta-v3-base": ("deberta-v2", 183_831_552),
    "deberta-v3-large": ("deberta-v2", 434_012_160),
    "mdeberta-v3-base": ("deberta-v2", 278_218_752),
    "longformer-base-4096": ("longformer", 148_659_456),
    "longformer-large-4096": ("longformer", 434_600_960),
    "bigbird-roberta-base": ("big_bird", 127_468_800),
    "bigbird-roberta-large": ("big_bird", 359_123_968),
    "mobilebert-uncased": ("mobilebert", 24_581_888),
    "mobilebert-tiny-uncased": ("mobilebert", 15_485_696),
    "tinybert-4l-312d": ("bert", 14_350_248),
    "tinybert-6l-768d": ("bert", 66_955_008),
    "minilm-l6-h384": ("bert", 22_713_216),
    "minilm-l12-h384": ("bert", 33_360_000),
    "scibert-scivocab-uncased": ("bert", 109_918_464),
    "biobert-base-cased": ("bert", 108_310_272),
    "pubmedbert-base-uncased": ("bert", 109_482_240),
    "finbert-uncased": ("bert", 109_751_808),
    "spanbert-base-cased": ("bert", 108_310_272),
    "spanbert-large-cased": ("bert", 333_579_264),
}


def count(config, *, pooler):
    """Parameters, told from one block of one unit of each size: nothing large is made."""
    hidden, inner = config.hidden_size, config.intermediate_size
    if isinstance(config.variant, ModernBERT):
        # No positions, no biases, a gate, and the final norm in the place of the first one.
        block = 4 * hidden * hidden + 3 * hidden * inner + 2 * hidden
        return (config.vocabulary_size + 1) * hidden + config.num_layers * block + pooler * (hidden * hidden + hidden)
    if isinstance(config.variant, MobileBERT):
        return count_bottleneck(config)
    width = config.embedding_size or hidden
    rows = config.vocabulary_size + config.max_length + config.position_offset + config.num_segments
    embeddings = rows * width + 2 * width + (0 if config.embedding_size is None else width * hidden + hidden)
    block = 4 * (hidden * hidden + hidden) + 2 * hidden * inner + inner + hidden + 4 * hidden
    blocks = 1 if config.shared_layers else config.num_layers
    further = 0 if config.variant is None else FURTHER[type(config.variant)](config, config.variant)
    return embeddings + blocks * block + pooler * (hidden * hidden + hidden) + further


def count_disentangled(config, variant):
    """What DeBERTa has besides, less the absolute positions and biases that it has not."""
    hidden = config.hidden_size
    table = 2 * variant.span * hidden + 2 * hidden * variant.normalized_positions
    if not variant.absolute_positions:
        table -= config.max_length * hidden
    keys = variant.content_to_position * (hidden * hidden + hidden * variant.key_bias)
    projections = 0 if variant.shared_projections else keys + variant.position_to_content * (hidden * hidden + hidden)
    convolution = variant.convolution and variant.convolution * hidden * hidden + 3 * hidden
    return table + config.num_layers * (projections - hidden * (not variant.key_bias)) + convolution


# Variant of the encoder -> the parameters by which it differs from `count`'s BERT.
FURTHER = {
    BigBird: lambda config, variant: 0,
    DeBERTa: count_disentangled,
    # Global tokens have projections of their own.
    Longformer: lambda config, variant: 3 * config.num_layers * (config.hidden_size + 1) * config.hidden_size,
    MPNet: lambda config, variant: variant.position_buckets * config.num_heads,
}


def count_bottleneck(config):
    """The same of an encoder whose pooler has no parameters."""
    hidden, inner, width = config.hidden_size, config.intermediate_size, config.embedding_size
    variant, narrow = config.variant, config.variant.bottleneck_size
    rows = config.max_length + config.position_offset + config.num_segments + 2
    embeddings = config.vocabulary_size * width + 3 * width * hidden + hidden + rows * hidden
    inputs = (1 if variant.bottleneck_attention else 2) * (hidden * narrow + 3 * narrow)
    read = narrow if variant.bottleneck_attention else hidden
    attention = 3 * (narrow * narrow + narrow) + read * narrow + narrow + 2 * narrow
    feed_forward = 2 * narrow * inner + inner + narrow + 2 * narrow
    outputs = narrow * hidden + 3 * hidden
    return embeddings + config.num_layers * (inputs + attention + variant.feed_forwards * feed_forward + outputs)


@pytest.mark.parametrize(("name", "vocabulary"), SIZES)
def test_parameters_of_bert(name, vocabulary):
    assert count(preset(name, vocabulary), pooler=True) == SIZES[name, vocabulary]


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_of_the_family(name):
    family, expected = COUNTS[name]
    config = preset(name)
    pooler = family not in ("distilbert", "electra", "modernbert", "deberta", "deberta-v2")
    assert count(config, pooler=pooler) == expected
    assert family_of(config, family, pooler=False).name == family


@pytest.mark.parametrize(
    "name",
    [
        *("tiny", "roberta-base", "distilbert-base-cased", "albert-base-v2"),
        *("mobilebert-uncased", "modernbert-base", "deberta-base", "deberta-v2-xlarge", "deberta-v3-base"),
        *("longformer-base-4096", "bigbird-roberta-base", "mpnet-base"),
    ],
)
def test_built_encoder_has_the_counted_parameters(name):
    # Small in all that the formula multiplies.
    small = {"num_layers": 2, "hidden_size": 12, "num_heads": 3, "intermediate_size": 20, "vocabulary_size": 9}
    config = preset(name)
    if config.embedding_size:
        small["embedding_size"] = 5
    if isinstance(config.variant, MobileBERT):
        small["variant"] = dataclasses.replace(config.variant, bottleneck_size=6)
    config = dataclasses.replace(config, **small, max_length=7)
    assert build_encoder(config).count_params() == count(config, pooler=True)


def test_all_are_counted_and_others_unknown():
    assert set(COUNTS) == set(RELEASED)
    assert set(SIZES) >= {(name, "uncased") for name in PRESETS} | {("base", name) for name in VOCABULARY_SIZES}
    with pytest.raises(ValueError, match=r"preset.name must be one of \('tiny', .*'roberta-base'.*\), got 'huge'"):
        preset("huge")
    with pytest.raises(ValueError, match=r"preset.vocabulary must be one of .*'chinese'.*, got 'klingon'"):
        preset("base", "klingon")
