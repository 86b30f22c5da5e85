import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.registry import TASKS
from tests.keras_bert.models.test_encoder import SETTINGS, dense, make_inputs, randomize, weights_of

INPUTS = make_inputs()
BATCH = {**INPUTS, "label": np.array([2, 0, 1], "int32")}


def pooled_by_hand(encoded, pooling):
    if pooling == "cls":
        return np.asarray(encoded["pooled_output"])
    states = np.asarray(encoded["sequence_output"])
    return np.stack([row[mask == 1].mean(axis=0) for row, mask in zip(states, INPUTS["padding_mask"], strict=True)])


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_logits_against_numpy(pooling):
    encoder = build_encoder(EncoderConfig(**SETTINGS))
    model = build_classifier(encoder, 3, pooling=pooling)
    randomize(model)
    expected = dense(pooled_by_hand(encoder(INPUTS), pooling), weights_of(model), "classifier")
    np.testing.assert_allclose(model(INPUTS), expected, atol=2e-5)
    assert {id(weight) for weight in model.weights if not weight.path.startswith("classifier")} <= {
        id(weight) for weight in encoder.weights
    }


def test_dropout_acts_on_training_only_and_arguments_are_checked():
    settings = {**SETTINGS, "dropout": 0.0, "attention_dropout": 0.0}
    model = build_classifier(build_encoder(EncoderConfig(**settings)), 3, dropout=0.5)
    randomize(model)
    objective = ClassificationObjective()
    losses = {float(objective(model, BATCH, training=True)["loss"][0]) for _ in range(4)}
    assert len(losses) > 1
    assert len({float(objective(model, BATCH, training=False)["loss"][0]) for _ in range(2)}) == 1
    encoder = build_encoder(EncoderConfig(**SETTINGS))
    with pytest.raises(ValueError, match="num_labels must be at least 1, got 0"):
        build_classifier(encoder, 0)
    with pytest.raises(ValueError, match=r"Classification.labels must be at least 2, got \['A'\]"):
        TASKS["classification"].build(encoder, None, labels=["A"])
    with pytest.raises(ValueError, match=r"pooling must be one of \('cls', 'mean'\), got 'max'"):
        build_classifier(encoder, 2, pooling="max")
