import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.options.pretraining import Generator, Masking


def test_shares_that_add_up_to_one_by_floats_alone():
    # The sum is above 1 by its last bit.
    assert Masking(mask_share=0.9 + 2e-16, random_share=0.1).random_share == 0.1


def test_predictions_shrink_with_the_rows():
    assert Masking(max_predictions=80).scaled(128, 512) == Masking(max_predictions=20)
    assert Masking(strategy="spans").scaled(128, 128) == Masking(strategy="spans")
    assert Masking(max_predictions=1).scaled(8, 512).max_predictions == 1


SIZES = ("num_layers", "hidden_size", "num_heads", "intermediate_size", "embedding_size")


def discriminator(**changes):
    sizes = {"num_layers": 12, "hidden_size": 768, "num_heads": 12, "intermediate_size": 3072, "vocabulary_size": 30522}
    return EncoderConfig(**{**sizes, **changes})


@pytest.mark.parametrize(
    ("settings", "changes", "sizes"),
    [
        # Table 6 of the paper: base and large; of small the embeddings are 128 wide, too.
        ({"size": 1 / 3}, {}, (12, 256, 4, 1024, 768)),
        (
            {},
            {"num_layers": 24, "hidden_size": 1024, "num_heads": 16, "intermediate_size": 4096},
            (24, 256, 4, 1024, 1024),
        ),
        (
            {},
            {"hidden_size": 256, "num_heads": 4, "intermediate_size": 1024, "embedding_size": 128},
            (12, 64, 1, 256, 128),
        ),
        ({}, {"num_heads": 2, "hidden_size": 30, "intermediate_size": 2}, (12, 8, 1, 1, 30)),
        # DeBERTa's of version 3: as wide, half as deep.
        ({"size": 1.0, "num_layers": 6, "sharing": "gradient_disentangled"}, {}, (6, 768, 12, 3072, None)),
        ({"hidden_size": 384}, {}, (12, 384, 6, 1536, 768)),
        (
            {"hidden_size": 128, "num_heads": 2, "intermediate_size": 99},
            {"embedding_size": 128},
            (12, 128, 2, 99, None),
        ),
        ({"sharing": "none"}, {"embedding_size": 128}, (12, 192, 3, 768, None)),
    ],
)
def test_sizes_of_a_generator(settings, changes, sizes):
    base = discriminator(**changes)
    config = Generator(**settings).config(base)
    assert tuple(getattr(config, name) for name in SIZES) == sizes
    assert (config.vocabulary_size, config.max_length) == (base.vocabulary_size, base.max_length)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 13}, "num_layers must be at most 12, the discriminator's, got 13"),
        ({"hidden_size": 960}, "hidden_size must be at most 768, the discriminator's, got 960"),
        ({"intermediate_size": 4000}, "intermediate_size must be at most 3072, the discriminator's, got 4000"),
        ({"hidden_size": 100, "num_heads": 3}, "num_heads must divide hidden_size=100, got 3"),
    ],
)
def test_a_generator_fits_its_discriminator(settings, message):
    with pytest.raises(ValueError, match=f"^Generator.{message}$"):
        Generator(**settings).config(discriminator())
