"""A student and its matrices through the step: interrupted, and started again. Eager: to trace takes long."""

import keras
import numpy as np
import pytest

from keras_bert.compress.imitation import ImitationObjective
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.compression import Distillation, Imitation
from keras_bert.options.training import Training
from keras_bert.tasks.classification import build_classifier
from keras_bert.training.checkpoints import CheckpointError
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from tests.keras_bert.training.small import SIZES, Killed, rows, stop_after

ALL = Imitation(hidden_states=1.0, attentions=0.5, relations=2.0, cosine=1.0)
STEPS = 3
pytestmark = pytest.mark.usefixtures("eager")


def build(seed, dropout=0.0, **changes):
    keras.utils.set_random_seed(seed)
    sizes = {**SIZES, "intermediate_size": 32, "initializer_range": 0.2, **changes}
    config = EncoderConfig(**sizes, dropout=dropout, attention_dropout=dropout)
    return build_classifier(build_encoder(config), 2, dropout=dropout)


def make_step(imitation=ALL):
    student, teacher = build(7, dropout=0.2, hidden_size=8), build(1)
    objective = ImitationObjective(ClassificationObjective(), student, teacher, Distillation(), imitation)
    training = Training(learning_rate=1e-2, batch_size=8, xla="off")
    return TrainingStep(objective.joint, objective, training, STEPS)


def fit(step, stop=None, **options):
    options = {"log_every": 1, "validations": 1, "checkpoint_seconds": 0.0, **options}
    data = rows(16, batch_size=step.training.micro_batch_size)
    return Trainer(step, data, validation=rows(9, seed=1, batch_size=5), on_progress=stop_after(stop), **options).fit()


def test_killed_and_started_again_the_bits_are_the_same(tmp_path):
    step = make_step()
    projection = step.model.get_layer("hidden_states_projection").kernel
    begin, start = step.arrays(), projection.numpy()
    history, whole = fit(step), step.arrays()
    assert np.any(projection.numpy() != start)
    step.set_arrays(begin)
    with pytest.raises(Killed):
        fit(step, 2, checkpoints=tmp_path)
    others = Imitation(**{**vars(ALL), "layer_map": (0,)})
    with pytest.raises(CheckpointError, match=r"but objective\.imitation\.layer_map was None and is \[0\]"):
        fit(make_step(others), checkpoints=tmp_path)
    step.set_arrays(begin)
    assert fit(step, checkpoints=tmp_path) == history
    for name, array in step.arrays().items():
        np.testing.assert_array_equal(array, whole[name], err_msg=name)
    losses = {f"{name}_loss" for name in ("hidden_states", "attentions", "relations", "cosine")}
    assert losses | {"loss", "teacher_distance"} | {f"validation_{name}" for name in losses} <= history[-1].keys()
    assert history[-1]["hidden_states_loss"] < history[0]["hidden_states_loss"]
