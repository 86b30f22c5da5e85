"""Which operations of a graph XNNPACK runs, and in how many parts."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.delegation import count_delegated
from keras_bert.export.tflite import export_tflite
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import build_classifier
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids
from tests.samples import long_but

# Settings of each graph whose attention is over all tokens; Longformer's has tensors of five axes.
FAMILIES = {
    "bert": {"activation": "gelu_erf"},
    "albert": {"embedding_size": 16, "shared_layers": True},
    "bigbird": {"variant": BigBird()},
    "deberta": {"variant": DeBERTa(), "num_segments": 0},
    "mobilebert": {"variant": MobileBERT(), "embedding_size": 16, "activation": "relu"},
    "mpnet": {"variant": MPNet(), "num_segments": 0},
    "modernbert": {"variant": ModernBERT(), "num_segments": 0},
}


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("family", long_but(["bert"], FAMILIES))
def test_xnnpack_leaves_lookups_alone_in_one_part(family, pooling, tmp_path):
    """The lookups in tables, that of the mask among them, with the reshapes of their ids."""
    settings = FAMILIES[family]
    model = build_classifier(build_encoder(tiny.changed(**settings)), 2, pooling=pooling)
    export_tflite(model, tmp_path / "model.tflite", (8,))
    tables = 2 if "num_segments" in settings else 3
    delegation = count_delegated(tmp_path / "model.tflite")
    assert delegation.parts == 1
    assert delegation.left == {
        "GATHER float32: it runs none of these": tables,
        "RESHAPE int32: it does not compute with int32": tables,
    }


def write(path, *, sums):
    """Two products, and between them running sums, which XNNPACK does not know, or what the first one can do itself."""
    kernel = tf.constant(np.random.default_rng(0).normal(size=(8, 8)).astype("float32"))

    @tf.function(input_signature=[tf.TensorSpec((1, 8), tf.float32, name="given")], autograph=False)
    def serve(given):
        between = tf.matmul(given, kernel)
        between = tf.math.cumsum(between, axis=1) if sums else tf.nn.relu(between)
        return {"found": tf.matmul(between, kernel)}

    tf.saved_model.save(tf.Module(), str(path.parent / "saved"), signatures={"serve_8": serve})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(path.parent / "saved"), signature_keys=["serve_8"])
    path.write_bytes(converter.convert())


@pytest.mark.parametrize(
    ("sums", "expected"), [(False, (2, 2, 1, {})), (True, (3, 2, 2, {"CUMSUM float32: it runs none of these": 1}))]
)
def test_nodes_and_parts_of_a_graph(tmp_path, sums, expected):
    write(tmp_path / "model.tflite", sums=sums)
    assert count_delegated(tmp_path / "model.tflite") == expected


def test_what_is_left_of_a_model_and_of_integers_is_told_with_its_reason(tmp_path):
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8,))
    delegation = count_delegated(tmp_path / "model.tflite")
    assert sum(delegation.left.values()) == delegation.nodes - delegation.taken > 0
    # Two tables and the numbers of the mask are looked up in, each with a list of ids.
    assert delegation.left["GATHER float32: it runs none of these"] == 3
    assert delegation.left["RESHAPE int32: it does not compute with int32"] == 3
    export_on_grids(tiny.build(), "static_wi8_ai8", tmp_path / "model.tflite", (8,), tiny.make_rows(4)[0])
    left = count_delegated(tmp_path / "model.tflite").left
    assert left["SOFTMAX int8: it runs none of these"] == 1
    # Three variances, each with the small number that keeps it from 0, are among them.
    assert left["ADD int8: it adds no terms whose steps are below 1/1024 of the result's"] >= 3
