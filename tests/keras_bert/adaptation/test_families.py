"""Every kind of adaptation beside every family's graph."""

import keras
import numpy as np
import pytest

import keras_bert
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from tests.keras_bert.adaptation.test_adapter import KINDS, NAMES, answer, disturb, make_task
from tests.keras_bert.interop.family_checkpoints import FAMILIES, SHAPE
from tests.keras_bert.tasks.tiny import make_tokenizer
from tests.samples import long_but

# Shared layers, positions in the attention, and products with other names; the others differ less.
ALWAYS = ("albert", "deberta-v2", "modernbert")

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture(scope="module", params=long_but(ALWAYS, FAMILIES))
def encoder(request):
    keras.utils.set_random_seed(0)
    settings = {**SHAPE, **FAMILIES[request.param][0]}
    size = make_tokenizer().vocabulary_size
    return build_encoder(EncoderConfig(**settings, vocabulary_size=size, initializer_range=0.2), pooler=False)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_an_adapter_is_trained_kept_and_merged(kind, encoder, tmp_path):
    task = make_task(encoder, max_length=20)
    plain = answer(task)
    if kind.kind == "bias" and not any(weight.name in ("bias", "beta") for weight in encoder.weights):
        with pytest.raises(ValueError, match="Bias needs an encoder with biases, got 'classification' without any"):
            task.adapt(kind)
        return
    adapter = task.adapt(kind)
    disturb(adapter, spread=0.1)
    adapted = answer(task)
    assert np.abs(adapted - plain).max() > 1e-3
    task.save_adapter(tmp_path / "adapter")
    # It is left as it was found, for the next one.
    task.drop_adapter()
    base = make_task(encoder, max_length=20)
    other = keras_bert.load_adapter(tmp_path / "adapter", base)
    np.testing.assert_allclose(answer(other), adapted, atol=1e-6)
    before = [np.array(weight.numpy()) for weight in encoder.weights]
    if adapter.merges:
        other.merge_adapter()
        np.testing.assert_allclose(answer(other), adapted, atol=1e-6)
        for weight, value in zip(encoder.weights, before, strict=True):
            weight.assign(value)
    else:
        other.drop_adapter()
