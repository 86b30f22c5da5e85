"""Saving and loading models: the same weights give the same bytes."""

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import keras

from keras_bert.layers.adapters import DecodedStates, PromptPlaces, TokenStates
from keras_bert.layers.attention import AttentionBias, SelfAttention
from keras_bert.layers.bottleneck_block import BottleneckBlock
from keras_bert.layers.convolution import ConvolutionSum
from keras_bert.layers.dense import Dense
from keras_bert.layers.disentangled import DisentangledAttention, DisentangledBlock
from keras_bert.layers.embeddings import EmbeddingProjection, PositionEmbedding, SegmentEmbedding, TokenEmbedding
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.layers.feed_forward import FeedForward
from keras_bert.layers.gated_feed_forward import GatedFeedForward
from keras_bert.layers.heads import (
    FirstTokenPooler,
    MaskedTokenTransform,
    MeanPooler,
    OutputBias,
    OutputColumns,
    Pooler,
    PredictionHead,
    ReplacedTokenTransform,
)
from keras_bert.layers.modern_block import ModernBlock
from keras_bert.layers.no_norm import NoNorm
from keras_bert.layers.relative_positions import RelativeEmbedding
from keras_bert.layers.rotary_attention import RotaryAttention, WindowBias
from keras_bert.layers.tap import TapLayer
from keras_bert.layers.trigrams import Trigrams
from keras_bert.losses import replaced_loss, span_hits, span_loss
from keras_bert.metrics.accuracy import LabelledAccuracy, ReplacedAccuracy
from keras_bert.optimizer import LayerwiseAdamW, WarmupDecay

# All that Keras cannot find by itself, also for what its own callbacks save: layers, loss, metrics, schedule.
CUSTOM_OBJECTS: dict[str, Any] = {
    thing.__name__: thing
    for thing in (
        AttentionBias, BottleneckBlock, ConvolutionSum, DecodedStates, Dense, DisentangledAttention, DisentangledBlock,
        EmbeddingProjection, EncoderBlock, FeedForward, FirstTokenPooler, GatedFeedForward, LabelledAccuracy,
        LayerwiseAdamW, MaskedTokenTransform, MeanPooler, ModernBlock, NoNorm, OutputBias, OutputColumns, Pooler,
        PositionEmbedding, PredictionHead, PromptPlaces, RelativeEmbedding, ReplacedAccuracy, ReplacedTokenTransform,
        RotaryAttention, SegmentEmbedding, SelfAttention, TapLayer, TokenEmbedding, TokenStates, Trigrams, WarmupDecay,
        WindowBias, replaced_loss, span_hits, span_loss,
    )
}  # fmt: skip
CUSTOM_OBJECTS["Tap"] = TapLayer  # its name in files of the first models

# The earliest time a zip entry can carry.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def save_model(model: keras.Model, path: Path) -> None:
    """Writes a `.keras` file without the optimizer, and without the dates and memory addresses that Keras puts in.

    Equal models give equal bytes, so that what follows a repeated training need not run again.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        dated = Path(folder) / "model.keras"
        # The same graph, but not compiled: the optimizer's state is twice the weights, and nobody reads it again.
        keras.saving.save_model(keras.Model(model.input, model.output, name=model.name), dated)
        with zipfile.ZipFile(dated) as source, zipfile.ZipFile(path, "w") as target:
            for name in sorted(source.namelist()):
                content = source.read(name)
                if name == "metadata.json":
                    content = _without_date(content)
                if name == "config.json":
                    content = _without_addresses(content)
                target.writestr(zipfile.ZipInfo(name, _EPOCH), content)


def load_model(path: Path) -> keras.Model:
    """Reads what `save_model` wrote; Keras' safe mode stays on.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no `.keras` file, or a damaged one.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no model at {path}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be a whole .keras file, got one that is cut off or of another kind")
    try:
        return keras.saving.load_model(path, custom_objects=CUSTOM_OBJECTS, compile=False, safe_mode=True)
    # What Keras, h5py and zipfile say of contents that are not what `save_model` writes.
    except (AttributeError, KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{path} must be a model that this library saved, got {reason}") from error


def describe_model(model: keras.Model) -> bytes:
    """The architecture of a model: equal ones give equal bytes, whatever their weights."""
    return _without_addresses(model.to_json().encode())


def _without_date(content: bytes) -> bytes:
    metadata: dict[str, Any] = json.loads(content)
    metadata.pop("date_saved", None)
    return json.dumps(metadata, sort_keys=True).encode()


def _without_addresses(content: bytes) -> bytes:
    """Leaves out the addresses by which Keras marks what stands in several places.

    In models of these layers that is only the dtype policy, a plain value: nothing is lost.
    """

    def drop(config: dict[str, Any]) -> dict[str, Any]:
        config.pop("shared_object_id", None)
        return config

    return json.dumps(json.loads(content, object_hook=drop)).encode()
