"""`model.fit` of a task on eight devices of one machine, and its program for GPUs and TPUs; with Keras' JAX backend."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(keras.backend.backend() != "jax", reason="keras.distribution is JAX's here")

DEVICES = 8


def make_classifier():
    from keras_bert.core.config import EncoderConfig
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.classification import build_classifier

    sizes = {"vocabulary_size": 30, "max_length": 8, "num_layers": 1, "hidden_size": 16, "num_heads": 2}
    keras.utils.set_random_seed(7)
    config = EncoderConfig(**sizes, intermediate_size=32, dropout=0.0, attention_dropout=0.0)
    return build_classifier(build_encoder(config), 2, dropout=0.0)


def rows(count=64):
    ids = np.random.default_rng(0).integers(5, 30, (count, 8)).astype("int32")
    zeros = np.zeros_like(ids)
    return {"token_ids": ids, "segment_ids": zeros, "padding_mask": zeros + 1}, (ids[:, 1] > 17).astype("int32")


def train_in_this_process(file, parallel):
    """Trains for four steps; writes the number of devices that hold a batch, and the weights."""
    import jax

    devices = jax.devices()
    if parallel == "yes":
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=keras.distribution.list_devices()))
    model, (x, y) = make_classifier(), rows()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1, clipnorm=1.0), loss)
    history = model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0).history["loss"]
    copies = len(model.trainable_variables[0].value.sharding.device_set)
    Path(file).with_suffix(".json").write_text(json.dumps({"devices": len(devices), "copies": copies, "loss": history}))
    np.savez(file, *model.get_weights())


def train(folder, parallel):
    file = folder / f"{parallel}.npz"
    environment = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}"}
    code = f"import sys; from {__name__} import train_in_this_process as run; run(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, str(file), parallel], check=True, env=environment)
    with np.load(file) as arrays:
        return json.loads(file.with_suffix(".json").read_text()), list(arrays.values())


def test_eight_devices_train_like_one(tmp_path):
    one, weights_of_one = train(tmp_path, "no")
    eight, weights_of_eight = train(tmp_path, "yes")
    assert (one["copies"], eight["copies"]) == (1, DEVICES)
    np.testing.assert_allclose(eight["loss"], one["loss"], atol=1e-5)
    for left, right in zip(weights_of_one, weights_of_eight, strict=True):
        np.testing.assert_allclose(right, left, atol=1e-5)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_a_step_is_lowered_for_other_devices(platform):
    """Forward and backward pass as StableHLO; compiling it to a binary needs the device's own compiler."""
    import jax
    from jax import export

    model, (x, y) = make_classifier(), rows(16)
    trained = [variable.value for variable in model.trainable_variables]
    fixed = [variable.value for variable in model.non_trainable_variables]

    def loss_of(weights):
        logits, _ = model.stateless_call(weights, fixed, x, training=True)
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)(y, logits)

    program = export.export(jax.jit(jax.value_and_grad(loss_of)), platforms=[platform])(trained)
    assert program.platforms == (platform,)
    assert "stablehlo.dot_general" in program.mlir_module()
