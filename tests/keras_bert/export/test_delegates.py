"""Which operations delegates take: files of each recipe, and graphs that are known by heart."""

from pathlib import Path

import pytest

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.export.delegates import DELEGATES, check_delegates, count_partitions, cover_graph
from keras_bert.export.quantized import export_quantized
from keras_bert.export.rules.lite_graphs import LiteGraph, Operation, Tensor
from tests.keras_bert.compress import tiny

NNAPI, GPU, CORE_ML = DELEGATES
# Recipe -> delegate -> taken operations, all operations, partitions; from the lists at commit f6745779.
GOLDEN = {
    None: {"NNAPI": (72, 73, 2), "GPU": (64, 73, 3), "Core ML": (29, 73, 14)},
    "mixed_wi8_ai8": {"NNAPI": (83, 91, 7), "GPU": (82, 91, 3), "Core ML": (25, 91, 13)},
    "dynamic_wi8": {"NNAPI": (73, 74, 2), "GPU": (65, 74, 3), "Core ML": (23, 74, 11)},
    "static_wi8_ai8": {"NNAPI": (78, 87, 6), "GPU": (78, 87, 3), "Core ML": (0, 87, 0)},
    "weights_wi4": {"NNAPI": (65, 74, 5), "GPU": (57, 74, 7), "Core ML": (23, 74, 11)},
    "weights_wi4_block32": {"NNAPI": (65, 74, 5), "GPU": (57, 74, 7), "Core ML": (23, 74, 11)},
    "float16": {"NNAPI": (72, 73, 2), "GPU": (64, 73, 3), "Core ML": (29, 73, 14)},
}
# What stands between a file and a delegate that takes all of it: a reason of each recipe.
REASONS = {
    None: ("NNAPI", "GELU float32: not on the list", 1),
    "mixed_wi8_ai8": ("NNAPI", "FULLY_CONNECTED int8: weights must have one scale, got one a unit", 7),
    "dynamic_wi8": ("Core ML", "FULLY_CONNECTED float32: it takes no int8 weights", 8),
    "static_wi8_ai8": ("GPU", "GATHER int8: version must be at most 1, got 2", 2),
    "weights_wi4": ("GPU", "FULLY_CONNECTED float32: it takes no int4 weights", 8),
    "weights_wi4_block32": ("NNAPI", "FULLY_CONNECTED float32: it takes no int4 weights", 8),
    "float16": ("GPU", "GATHER float16: indices must have 1 axis, got 2", 2),
}


@pytest.mark.parametrize("recipe", GOLDEN)
def test_files_of_each_recipe(recipe: str | None, tmp_path: Path) -> None:
    model, parameters = tiny.build(), None
    if recipe is not None:
        ranges = QuantizationAware(model, tiny.batches(1), recipe).finish()
        parameters = QuantizationParameters(recipe, ranges)
    export_quantized(model, tmp_path / "model.tflite", (8,), parameters, tiny.make_rows(4)[0])
    coverages = check_delegates(tmp_path / "model.tflite")
    figures = {name: (sum(c.taken.values()), c.operations, c.partitions) for name, c in coverages.items()}
    assert figures == GOLDEN[recipe]
    assert all(sum(c.left.values()) == c.operations - sum(c.taken.values()) for c in coverages.values())
    name, reason, count = REASONS[recipe]
    assert coverages[name].left[reason] == count


def graph_of(kind: str, inputs: list[Tensor], output: Tensor, *, built_in: bool = True, **options: object) -> LiteGraph:
    version = options.pop("version", 1)
    places = tuple(range(len(inputs)))
    operation = Operation("operation 0 of graph 0", kind, built_in, places, (len(inputs),), version, options)
    return LiteGraph([*inputs, output], [operation], {})


def value(type_: str, *shape: int, constant: bool = False, step: float | None = None) -> Tensor:
    return Tensor("values", type_, shape, step, constant)


@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (graph_of("CUMSUM", [value("float32", 1, 8)], value("float32", 1, 8)), ["not on the list"] * 3),
        (graph_of("GELU", [value("float32", 1, 8)], value("float32", 1, 8), built_in=False), ["not on the list"] * 3),
        (graph_of("TANH", [value("float32", 1, 8)], value("float32", 1, 8)), [None] * 3),
        (
            graph_of("TANH", [value("int16", 1, 8)], value("int16", 1, 8)),
            ["it takes no int16 inputs"] * 3,
        ),
        (
            graph_of("TANH", [value("float32", 1, 8)], value("float32", 1, 8), version=3),
            [f"version must be at most {version}, got 3" for version in (2, 2, 1)],
        ),
        (
            graph_of("SOFTMAX", [value("float32", 1, 8)], value("float32", 1, 8), beta=2.0),
            [None, "beta must be 1", "beta must be 1"],
        ),
        (
            graph_of("ADD", [value("float32", 1, 4, 8), value("float32", 4, 1)], value("float32", 1, 4, 8)),
            [None, None, None],
        ),
        (
            graph_of("ADD", [value("float32", 2, 4, 4, 8), value("float32", 1, 4, 1, 8)], value("float32", 2, 4, 4, 8)),
            [None, None, "one shape must fit the other"],
        ),
        (
            graph_of(
                "FULLY_CONNECTED",
                [value("float32", 4, 8), value("float32", 2, 8, constant=True)],
                value("float32", 4, 2),
            ),
            [None, None, "the input must be a single row"],
        ),
        (
            graph_of("BATCH_MATMUL", [value("float32", 2, 4, 8), value("float32", 1, 8, 4)], value("float32", 2, 4, 4)),
            ["factors must have equal batches", None, "not on the list"],
        ),
    ],
)
def test_planted_operations_are_taken_or_left(graph: LiteGraph, left: list[str | None]) -> None:
    for delegate, reason in zip(DELEGATES, left, strict=True):
        coverage = cover_graph(graph, delegate)
        name = f"{graph.operations[0].kind} {graph.tensors[0].type}"
        assert coverage.left == ({} if reason is None else {f"{name}: {reason}": 1}), delegate.name
        assert coverage.taken == ({name: 1} if reason is None else {})
        assert coverage.partitions == (reason is None)


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
    from tests.keras_bert.export.test_delegation import count_delegated, write

    for sums in (False, True):
        write(tmp_path / "model.tflite", sums=sums)
        operations = read_graphs(tmp_path / "model.tflite")[0].operations
        parts = count_delegated(tmp_path / "model.tflite").parts
        assert count_partitions(operations, [operation.kind != "CUMSUM" for operation in operations]) == parts


def test_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(b"a model, but not for LiteRT")
    with pytest.raises(ValueError, match=r"^\S+model\.tflite must be a \.tflite file, got other bytes$"):
        check_delegates(tmp_path / "model.tflite")
