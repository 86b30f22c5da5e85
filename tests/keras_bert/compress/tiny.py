"""A task that a tiny model learns in seconds: is there a token above 24?"""

import dataclasses

import keras
import numpy as np

from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import build_classifier

LENGTH = 16
CONFIG = EncoderConfig(
    vocabulary_size=50, hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64, max_length=LENGTH, dropout=0.0
)


def changed(**changes) -> EncoderConfig:
    return dataclasses.replace(CONFIG, **changes)


def build(**changes) -> keras.Model:
    keras.utils.set_random_seed(0)
    return build_classifier(build_encoder(changed(**changes)), 2)


def make_rows(count: int, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    random = np.random.default_rng(seed)
    lengths = random.integers(4, LENGTH + 1, count)
    mask = (np.arange(LENGTH) < lengths[:, None]).astype(np.int32)
    token_ids = random.integers(5, 25, (count, LENGTH))
    labels = random.integers(0, 2, count)
    places = random.integers(0, lengths)
    token_ids[np.arange(count), places] += 25 * labels
    segment_ids = (np.arange(LENGTH) >= lengths[:, None] // 2).astype(np.int32) * mask
    return {"token_ids": (token_ids * mask).astype(np.int32), "segment_ids": segment_ids, "padding_mask": mask}, labels


def batches(count: int = 4) -> list[dict[str, np.ndarray]]:
    return [make_rows(32, seed)[0] for seed in range(count)]


def train(model: keras.Model, epochs: int) -> None:
    rows, labels = make_rows(1024, seed=1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.Adam(2e-3)
    # Where the first step makes its variables, TensorFlow traces the step twice, which takes seconds.
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, loss)
    model.fit(rows, labels, batch_size=32, epochs=epochs, verbose=0)
