"""What the graph of a SavedModel may do: TensorFlow's operations are a program, which can read and write any file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert.core.folders import CALIBRATION_FILE

# Of all exports, see `tests/keras_bert/export/test_saved_operations.py`.
_OPERATIONS = frozenset(
    """
    Abs AddN AddV2 Any ArgMax AssignVariableOp BatchMatMulV2 BiasAdd BroadcastTo Cast ConcatV2 Const Cos Cumsum
    DecodeRaw DisableCopyOnRead Equal Erf Exp ExpandDims FastBertNormalize FastWordpieceTokenizeWithOffsets Fill
    FloorDiv FloorMod GatherNd GatherV2 Greater GreaterEqual HashTableV2 Identity InitializeTableFromTextFileV2 IsFinite
    Less LessEqual Log LogicalAnd LogicalNot LogicalOr LookupTableFindV2 LowerBound MatMul Max Maximum Mean
    MergeV2Checkpoints Min Minimum Mul Neg NoOp Pack Pad PadV2 Placeholder Pow Prod RaggedGather RaggedRange
    RaggedTensorToTensor Range ReadVariableOp RealDiv ReduceJoin Relu Reshape RestoreV2 Rsqrt SaveV2 ScatterNd
    SegmentMax SegmentMin SegmentSum Select SelectV2 Shape ShardedFilename Sigmoid Sin Size Softmax Split SplitV Sqrt
    Square SquaredDifference Squeeze StatefulPartitionedCall StatelessIf StatelessWhile StaticRegexFullMatch
    StaticRegexReplace StopGradient StridedSlice StringJoin StringLength Sub Substr Sum Tanh Tile TopKV2 Transpose
    UnicodeTranscode UnsortedSegmentMax UnsortedSegmentMin UpperBound VarHandleOp VarIsInitializedOp Where ZerosLike
    """.split()  # noqa: SIM905, one name on each line would hide the rest
)
# Sessions restore and save variables with these; `tf.saved_model.load` has code of its own for it.
_CHECKPOINT_OPERATIONS = ("MergeV2Checkpoints", "RestoreV2", "SaveV2")
# Reads the calibration from a file, the second input.
_READ_TABLE = "InitializeTableFromTextFileV2"


def check_operations(saved_model: bytes) -> None:
    """Checks that a `saved_model.pb` holds only operations of our exports, and opens only files of its folder."""
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    graphs = SavedModel.FromString(saved_model).meta_graphs
    if len(graphs) != 1 or not graphs[0].HasField("object_graph_def"):
        raise ValueError("it must hold one graph with its objects, as TensorFlow 2 writes it")
    nodes = [*graphs[0].graph_def.node, *(node for f in graphs[0].graph_def.library.function for node in f.node_def)]
    if refused := sorted({node.op for node in nodes} - _OPERATIONS) or sorted(set(_misplaced(graphs[0]))):
        rule = "it must hold only operations of exported models, as others may run code or touch files"
        raise ValueError(f"{rule}; tf.saved_model.load opens it, if you trust who made it; got {', '.join(refused)}")


def _misplaced(graph: Any) -> Iterator[str]:
    """The operations and assets by which loading or a signature could touch other files than the model's."""
    functions, objects = graph.graph_def.library.function, graph.object_graph_def
    yield from (asset.filename for asset in graph.asset_file_def if asset.filename != Path(CALIBRATION_FILE).name)
    yield from (node.op for node in graph.graph_def.node if node.op in (*_CHECKPOINT_OPERATIONS, _READ_TABLE))
    # A function is called by its name, which stands in an attribute of an operation or in an object.
    callers = {function.signature.name: function.SerializeToString() for function in functions}
    for function in functions:
        name, arguments = function.signature.name, [argument.name for argument in function.signature.input_arg]
        is_called = any(name.encode() in content for caller, content in callers.items() if caller != name)
        # The last arguments are objects, which no caller can replace.
        bound = objects.concrete_functions[name].bound_inputs if name in objects.concrete_functions else ()
        kinds = [objects.nodes[index].WhichOneof("kind") for index in bound]
        fixed = dict(zip(reversed(arguments), reversed(kinds), strict=False))
        for node in function.node_def:
            if node.op in _CHECKPOINT_OPERATIONS and (is_called or name.encode() in objects.SerializeToString()):
                yield node.op
            if node.op == _READ_TABLE and (is_called or fixed.get(node.input[1]) != "asset"):
                yield node.op
