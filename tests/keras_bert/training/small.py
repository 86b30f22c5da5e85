"""A training that takes a second: a small classifier on rows in memory, and a table whose gradients are counts."""

import json

import keras
import numpy as np
import tensorflow as tf

from keras_bert.core.config import EncoderConfig
from keras_bert.core.digests import digest
from keras_bert.core.losses import weighted_sums
from keras_bert.data.batches import reading_options
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.tasks.classification import build_classifier
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer

SIZES = {"vocabulary_size": 30, "max_length": 8, "num_layers": 1, "hidden_size": 16, "num_heads": 2}


class Rows:
    """Batches of rows in memory."""

    def __init__(self, columns, batch_size):
        self.columns, self.batch_size = columns, batch_size
        self.count = len(columns["token_ids"])
        self.per_epoch = -(-self.count // batch_size)

    def after(self, done, *, shares=(0,), of=1, stop=None):
        def batch(place):
            start = (done + place // len(shares)) % self.per_epoch * self.batch_size
            places = range(start, min(start + self.batch_size, self.count))[shares[place % len(shares)] :: of]
            return [column[list(places)] for column in self.columns.values()]

        def read(place):
            columns = self.columns.items()
            arrays = tf.numpy_function(batch, [place], [column.dtype for _, column in columns])
            return {
                name: tf.ensure_shape(array, (None, *column.shape[1:]))
                for (name, column), array in zip(columns, arrays, strict=True)
            }

        count = np.iinfo(np.int64).max if stop is None else (stop - done) * len(shares)
        return tf.data.Dataset.range(count).map(read).with_options(reading_options())

    def identity(self):
        columns = {name: column.tolist() for name, column in self.columns.items()}
        return {"columns": digest([json.dumps(columns).encode()]), "batch_size": self.batch_size}

    def epoch(self, number=0, **shares):
        return self.after(number * self.per_epoch, stop=(number + 1) * self.per_epoch, **shares)


def rows(count=128, seed=0, batch_size=16):
    """Is the second token from the upper half of the vocabulary?"""
    ids = np.random.default_rng(seed).integers(5, 30, (count, 8)).astype("int32")
    zeros, label = np.zeros_like(ids), (ids[:, 1] > 17).astype("int32")
    columns = {"token_ids": ids, "segment_ids": zeros, "padding_mask": zeros + 1, "label": label}
    return Rows(columns, batch_size)


def small_classifier(dropout=0.0):
    config = EncoderConfig(
        **SIZES, intermediate_size=32, dropout=dropout, attention_dropout=dropout, initializer_range=0.2
    )
    return build_classifier(build_encoder(config), 2, dropout=dropout)


def bag_of_tokens(dropout=0.0):
    """What is built and traced in a fraction of the time, where not the model is looked at but how training goes."""
    inputs = keras.Input((SIZES["max_length"],), dtype="int32", name="token_ids")
    states = keras.layers.Embedding(SIZES["vocabulary_size"], 8, name="token_embedding")(inputs)
    states = keras.layers.Dense(8, "tanh", name="block_0")(states)
    states = keras.layers.Flatten(name="flatten")(keras.layers.Dropout(dropout, name="dropout")(states))
    logits = keras.layers.Dense(2, name="classifier")(states)
    return keras.Model({"token_ids": inputs}, logits, name="bag_of_tokens")


class Killed(BaseException):
    """As if the process had ended."""


def kill():
    raise Killed


def stop_after(step, end=kill):
    """Ends a training after a step in its own way; it runs through for None."""

    def on_progress(done, *_):
        if done == step:
            end()

    return on_progress


def masked_model():
    """A small encoder that fills blanks in rows of `write_dynamic_rows`."""
    config = EncoderConfig(**{**SIZES, "vocabulary_size": 65, "max_length": 16}, intermediate_size=32)
    return build_pretraining(build_encoder(config), next_sentence=False)


BATCH = {"token_ids": np.array([[1, 1, 1, 2], [1, 3, 3, 0]], "int32"), "padding_mask": np.ones((2, 4), "int32")}


def linear():
    """A table; with `LinearObjective`, how often a token occurs is its gradient."""
    inputs = keras.Input((None,), dtype="int32", name="token_ids")
    return keras.Model(inputs, TokenEmbedding(5, 2)(inputs))


class LinearObjective:
    def weights(self, batch):
        return {"loss": tf.constant(16.0)}

    def __call__(self, model, batch, training):
        values = tf.cast(model(batch["token_ids"]), tf.float32)
        return {"loss": weighted_sums(values, tf.ones_like(values))}


def fit(steps, *, build=small_classifier, dropout=0.0, strategy=None, training=None, objective=None, seed=0, **options):
    keras.utils.set_random_seed(7)
    with (strategy or tf.distribute.get_strategy()).scope():
        model = build(dropout)
    # Compiling takes longer than these trainings.
    training = training or Training(learning_rate=3e-3, xla="off")
    step = TrainingStep(model, objective or ClassificationObjective(), training, steps, strategy)
    options = {"validation": rows(33, seed=1), "on_progress": lambda *_: None, "validations": 1, **options}
    return model, Trainer(step, rows(seed=seed, batch_size=16 // training.accumulation), **options).fit()
