import dataclasses
from typing import get_args

import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.options import training
from keras_bert.options.compression import WEIGHTS, Imitation, Student
from keras_bert.options.export import Export
from keras_bert.options.fine_tuning import Selection
from keras_bert.options.pretraining import Generator, Masking
from keras_bert.options.quantization import RECIPES, RecipeName
from keras_bert.options.training import Training
from tests.keras_bert.tiny import tiny_config

TEACHER = tiny_config(num_layers=4, hidden_size=32, num_heads=4, intermediate_size=64, max_length=512, dropout=0.2)


@pytest.mark.parametrize(
    ("settings", "changes"),
    [
        ({"num_layers": 2}, {"num_layers": 2}),
        ({"layers": (3, 0, 2)}, {"num_layers": 3}),
        ({"hidden_size": 16, "num_heads": 2}, {"hidden_size": 16, "num_heads": 2}),
        ({"intermediate_size": 8}, {"intermediate_size": 8}),
    ],
)
def test_sizes_that_are_not_set_are_those_of_the_teacher(settings, changes):
    assert Student(**settings).config(TEACHER, 24) == dataclasses.replace(TEACHER, max_length=24, **changes)


def test_rules_of_students_and_imitation():
    with pytest.raises(ValueError, match=r"EncoderConfig\.hidden_size must be a multiple of num_heads=4, got 18"):
        Student(hidden_size=18).config(TEACHER, 24)
    assert not Imitation().is_on
    assert all(Imitation(**{name: 0.5}).is_on for name in WEIGHTS)
    Imitation(hidden_states=1.0).check_layers(4, 4)
    Imitation(hidden_states=1.0, layer_map=(0, 0, 1)).check_layers(3, 2)
    Imitation(relations=1.0, teacher_layer=-4).check_layers(9, 4)
    counts = [Imitation(cosine=1.0, intermediate_steps=0.6).count_intermediate_steps(steps) for steps in (1, 2, 10)]
    assert counts == [0, 1, 6]
    assert Imitation(cosine=1.0, intermediate_steps=0.1).count_intermediate_steps(4) == 1
    assert Imitation(cosine=1.0).count_intermediate_steps(4) == 0


@pytest.mark.parametrize(("width", "message"), [(3, 3), (None, 4)])
def test_widths_that_cannot_be_cut(width, message):
    rule = "divide the widths of queries, 6 in the student and 8 in the teacher"
    with pytest.raises(ValueError, match=rf"^Imitation\.relation_heads must {rule}, got {message}$"):
        Imitation(relations=1.0, relation_heads=width).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_heads=2).check_widths(6, 8, heads=4)
    Imitation(relations=1.0, relation_kind="attention_value").check_widths(6, 8, heads=4)


def test_options_know_their_lengths_patience_recipes_steps_and_parts():
    export = Export(lengths=(64, 32, 128))
    assert export.choose_lengths(128) == [32, 64, 128]
    assert export.choose_lengths(100) == [32, 64, 100]
    assert export.choose_lengths(384) == [32, 64, 128, 384]
    assert export.choose_lengths(16) == Export(lengths=()).choose_lengths(16) == [16]
    assert Selection(patience=2).keep == "best"
    assert Selection(keep="last").patience is None
    assert set(RECIPES) == set(get_args(RecipeName))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Training().steps = 3
    assert Training(steps=7).count_steps(1000) == 7
    assert Training(epochs=1.5, batch_size=8).count_steps(100) == 19
    assert Training(epochs=1, batch_size=512).count_steps(3) == 1
    assert Training(batch_size=24, accumulation=3).micro_batch_size == 8


def test_shares_add_up_to_one_and_predictions_shrink_with_the_rows():
    # The sum is above 1 by its last bit.
    assert Masking(mask_share=0.9 + 2e-16, random_share=0.1).random_share == 0.1
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


@pytest.mark.parametrize("native", ["bfloat16", "float32"])
def test_auto_becomes_what_the_processor_computes_natively_at_once(monkeypatch, native):
    monkeypatch.setattr(training, "native_precision", lambda: native)
    chosen = Training(precision="auto")
    assert dataclasses.asdict(chosen)["precision"] == native
    assert chosen == Training(precision=native)
    assert dataclasses.replace(chosen, seed=1).precision == native


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_precision_that_was_chosen_stays(monkeypatch, precision):
    monkeypatch.setattr(training, "native_precision", lambda: pytest.fail("nobody asked for it"))
    assert Training(precision=precision).precision == precision
