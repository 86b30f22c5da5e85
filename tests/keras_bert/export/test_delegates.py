"""Which operations delegates take: files of each recipe, and graphs that are known by heart."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.export.delegates import check_delegates, count_partitions, cover_graph
from keras_bert.export.delegation import count_delegated
from keras_bert.export.rules.lite_graphs import LiteGraph, Operation
from keras_bert.export.supported_operations import DELEGATES
from keras_bert.export.tflite import export_tflite
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.models.encoder import build_encoder
from keras_bert.options.data import Pooling
from keras_bert.tasks.classification import build_classifier
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids
from tests.keras_bert.export.test_operations import value
from tests.samples import long_but

# Recipe -> delegate -> taken operations, all operations, partitions; from the lists at commit f6745779.
GOLDEN = {
    None: {"NNAPI": (68, 69, 2), "GPU": (67, 69, 1), "Core ML": (29, 69, 14)},
    "mixed_wi8_ai8": {"NNAPI": (80, 88, 7), "GPU": (84, 88, 1), "Core ML": (25, 88, 13)},
    "dynamic_wi8": {"NNAPI": (70, 71, 2), "GPU": (67, 71, 1), "Core ML": (23, 71, 11)},
    "static_wi8_ai8": {"NNAPI": (74, 83, 6), "GPU": (79, 83, 1), "Core ML": (0, 83, 0)},
    "static_wi8_ai16": {"NNAPI": (6, 83, 1), "GPU": (3, 83, 1), "Core ML": (0, 83, 0)},
    "weights_wi4": {"NNAPI": (62, 71, 5), "GPU": (59, 71, 6), "Core ML": (23, 71, 11)},
    "weights_wi4_block32": {"NNAPI": (62, 71, 5), "GPU": (59, 71, 6), "Core ML": (23, 71, 11)},
    "float16": {"NNAPI": (68, 69, 2), "GPU": (67, 69, 1), "Core ML": (29, 69, 14)},
}
# What stands between a file and a delegate that takes all of it: a reason of each recipe.
REASONS = {
    None: ("NNAPI", "GELU float32: not on the list", 1),
    "mixed_wi8_ai8": ("NNAPI", "FULLY_CONNECTED int8: weights must have one scale, got one a unit", 7),
    "dynamic_wi8": ("Core ML", "FULLY_CONNECTED float32: it takes no int8 weights", 8),
    "static_wi8_ai8": ("GPU", "GATHER int8: version must be at most 1, got 2", 2),
    "static_wi8_ai16": ("NNAPI", "FULLY_CONNECTED int16: it takes no int16 inputs", 8),
    "weights_wi4": ("GPU", "FULLY_CONNECTED float32: it takes no int4 weights", 8),
    "weights_wi4_block32": ("NNAPI", "FULLY_CONNECTED float32: it takes no int4 weights", 8),
    "float16": ("GPU", "RESHAPE int32: it takes no int32 inputs", 2),
}


@pytest.mark.parametrize("recipe", GOLDEN)
def test_files_of_each_recipe(recipe: str | None, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    if recipe is None:
        export_tflite(tiny.build(), path, (8,))
    else:
        export_on_grids(tiny.build(), recipe, path, (8,), tiny.make_rows(4)[0])
    coverages = check_delegates(tmp_path / "model.tflite")
    figures = {name: (sum(c.taken.values()), c.operations, c.partitions) for name, c in coverages.items()}
    assert figures == GOLDEN[recipe]
    assert all(sum(c.left.values()) == c.operations - sum(c.taken.values()) for c in coverages.values())
    name, reason, count = REASONS[recipe]
    assert coverages[name].left[reason] == count


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
def test_gpu_and_xnnpack_leave_ids_alone(family: str, pooling: Pooling, tmp_path: Path) -> None:
    """The GPU leaves reshapes of ids, XNNPACK lookups and the cast of the mask, both in one part; NNAPI leaves GELU."""
    settings = FAMILIES[family]
    model = build_classifier(build_encoder(tiny.changed(**settings)), 2, pooling=pooling)
    export_tflite(model, tmp_path / "model.tflite", (8,))
    tables = 1 if "num_segments" in settings else 2
    coverages = check_delegates(tmp_path / "model.tflite")
    assert coverages["NNAPI"].left.keys() == ({"GELU float32: not on the list"} if family != "mobilebert" else set())
    coverage = coverages["GPU"]
    assert coverage.left == {"RESHAPE int32: it takes no int32 inputs": tables}
    assert coverage.partitions == 1
    delegation = count_delegated(tmp_path / "model.tflite")
    assert delegation.parts == 1
    assert delegation.left == {
        "CAST int32: it does not compute with int32": 1,
        "GATHER float32: it runs none of these": tables,
        "RESHAPE int32: it does not compute with int32": tables,
    }


def test_unpacked_float16_weights_are_constants() -> None:
    tensors = [
        value("float32", 1, 8),
        value("float16", 2, 8, constant=True),
        value("float32", 2, 8),
        value("float32", 1, 2),
    ]
    operations = [
        Operation("operation 0 of graph 0", "DEQUANTIZE", True, (1,), (2,)),
        Operation("operation 1 of graph 0", "FULLY_CONNECTED", True, (0, 2), (3,)),
    ]
    for delegate in DELEGATES:
        assert cover_graph(LiteGraph(tensors, operations, {}), delegate) == (1, {"FULLY_CONNECTED float32": 1}, {}, 1)


@pytest.mark.parametrize(
    ("taken", "partitions"), [("", 0), ("0123", 1), ("03", 1), ("13", 1), ("012", 1), ("12", 1), ("02", 2)]
)
def test_partitions_take_turns(taken: str, partitions: int) -> None:
    """0 -> 1 -> 2, and 3 beside them, which needs the input alone."""
    pairs = [(9, 0), (0, 1), (1, 2), (9, 3)]
    operations = [Operation("", "TANH", True, (source,), (target,)) for source, target in pairs]
    assert count_partitions(operations, [str(number) in taken for number in range(4)]) == partitions


def test_partitions_are_those_of_the_runtime(tmp_path: Path) -> None:
    from keras_bert.export.rules.lite_graphs import read_graphs

    for sums in (False, True):
        write(tmp_path / "model.tflite", sums=sums)
        operations = read_graphs(tmp_path / "model.tflite")[0].operations
        parts = count_delegated(tmp_path / "model.tflite").parts
        assert count_partitions(operations, [operation.kind != "CUMSUM" for operation in operations]) == parts


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(b"a model, but not for LiteRT")
    with pytest.raises(ValueError, match=r"^\S+model\.tflite must be a \.tflite file, got other bytes$"):
        check_delegates(tmp_path / "model.tflite")


def write(path: Path, *, sums: bool) -> None:
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
def test_nodes_and_parts_of_a_graph(tmp_path: Path, sums: bool, expected: tuple[object, ...]) -> None:
    write(tmp_path / "model.tflite", sums=sums)
    assert count_delegated(tmp_path / "model.tflite") == expected


def test_what_is_left_of_a_model_and_of_integers_is_told_with_its_reason(tmp_path: Path) -> None:
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8,))
    delegation = count_delegated(tmp_path / "model.tflite")
    assert sum(delegation.left.values()) == delegation.nodes - delegation.taken > 0
    # Two tables are looked up in, each with a list of ids.
    assert delegation.left["GATHER float32: it runs none of these"] == 2
    assert delegation.left["RESHAPE int32: it does not compute with int32"] == 2
    export_on_grids(tiny.build(), "static_wi8_ai8", tmp_path / "model.tflite", (8,), tiny.make_rows(4)[0])
    left = count_delegated(tmp_path / "model.tflite").left
    assert left["SOFTMAX int8: it runs none of these"] == 1
    # Three variances, each with the small number that keeps it from 0, are among them.
    assert left["ADD int8: it adds no terms whose steps are below 1/1024 of the result's"] >= 3
