"""Passes over the graphs of a `.tflite` file: constants in integers, and lookups and slices that delegates run."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.layer_names import make_layer_pattern
from keras_bert.export.lite_writer import LiteGraphWriter
from keras_bert.export.sharing import write_model
from keras_bert.layers.regression_head import folded_heads

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
# The end of the path of the tap on a layer's result, and the operation that rounds it.
_RESULT, _ROUNDING = "/output_tap", "FakeQuantWithMinMaxArgs"
# The numbers of an int8 grid: 0 to 255 in a range, -128 to 127 in a file.
_STEPS, _LOWEST = 255, -128


def store_constants_as_integers(model: Any, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Replaces float constants that are on a grid of training by int8 constants and `DEQUANTIZE`, in place.

    The position vectors of a signature do not depend on its inputs. TensorFlow's converter computes them in advance
    and, if floats are computed with them, writes them as float32 in every signature: a fifth of a file of 1 MB.
    Inference takes as long as with floats. `ranges` has the smallest and the largest value of the grid of each tap, by
    its path. A constant is replaced if its name says that it is the rounded result of a layer with such a tap.
    """
    layers = {tap.removesuffix(_RESULT): span for tap, span in ranges.items() if tap.endswith(_RESULT)}
    for graph in model.subgraphs:
        _ConstantPass(model, graph).store(layers)
    # Signatures may read the same buffer; an empty one has no bytes in the file.
    read = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    read.update(entry.buffer for entry in model.metadata or ())
    for number, buffer in enumerate(model.buffers):
        if number not in read:
            buffer.data = None


class _ConstantPass(LiteGraphWriter):
    def store(self, layers: Mapping[str, tuple[float, float]]) -> None:
        """Replaces the constants that are the results of layers, each rounded in a range."""
        for number, tensor in enumerate(list(self._graph.tensors)):
            name = tensor.name.decode()
            is_float = tensor.type == schema.TensorType.FLOAT32 and self._model.buffers[tensor.buffer].data is not None
            if not is_float or _ROUNDING not in name:
                continue
            for layer, span in layers.items():
                if re.search(rf"(^|/){make_layer_pattern(layer)}/{_ROUNDING}", name):
                    self._store(number, *span)
                    break

    def _store(self, number: int, low: float, high: float) -> None:
        tensor = self._graph.tensors[number]
        values = np.asarray(self._model.buffers[tensor.buffer].data, np.uint8).view(np.float32)
        scale = (high - low) / _STEPS
        zero = round(-low / scale) + _LOWEST
        integers = np.clip(np.rint(values / scale) + zero, _LOWEST, _LOWEST + _STEPS).astype(np.int8)
        stored = self._constant(tensor.name, "int8", integers.reshape(tensor.shape))
        grid = schema.QuantizationParametersT()
        grid.scale, grid.zeroPoint = np.array([scale], np.float32), np.array([zero], np.int64)
        self._graph.tensors[stored].quantization = grid
        # The float tensor stays, as the result of an operation.
        tensor.buffer = 0
        options = schema.DequantizeOptionsT()
        operation = self._operation(_Kind.DEQUANTIZE, [stored], number, _Options.DequantizeOptions, options)
        self._graph.operators.insert(0, operation)


_SELECTIONS = (_Kind.SELECT, _Kind.SELECT_V2)


def simplify_lookups(model: Any) -> None:
    """Rewrites the lookups of rows in a `ModelT` with all data inside, in place; answers stay the same bits.

    - Keras adds the length of a table to negative ids. Ids of tokens and segments are never negative, and few delegates
    compute with integers: the lookup reads the ids themselves, and LiteRT refuses a negative id.
    - Ids become a list instead of a matrix: the GPU delegate has no other lookup.
    - The operations on ids come first, so that those that stay on the processor do not split a delegate's part.
    - Rows are read from a table in float16 and then converted to float32: no delegate reads a table that is converted
      first.
    """
    for graph in model.subgraphs:
        _LookupPass(model, graph).simplify()


class _LookupPass(LiteGraphWriter):
    def simplify(self) -> None:
        """Rewrites all lookups along the first axis."""
        operations = self._graph.operators
        self._makers = {int(operation.outputs[0]): operation for operation in operations}
        lookups = [operation for operation in operations if self._is_lookup(operation)]
        for lookup in lookups:
            lookup.inputs = np.array([lookup.inputs[0], self._without_wrap(lookup)], np.int32)
        rewritten: list[Any] = []
        for operation in operations:
            rewritten += self._flattened(operation) if self._is_lookup(operation) else [operation]
        self._graph.operators = _sort_by_need(rewritten, lookups, set(map(int, self._graph.outputs)))
        self._remove_unused_tensors()

    def _is_lookup(self, operation: Any) -> bool:
        if self._kind(operation) != _Kind.GATHER:
            return False
        options = operation.builtinOptions
        return options is None or (options.axis == 0 and options.batchDims == 0)

    def _without_wrap(self, lookup: Any) -> int:
        """Returns `ids` if a lookup reads `ids < 0 ? ids + length : ids`, else what it reads."""
        table, wrapped = map(int, lookup.inputs[:2])
        selection = self._makers.get(wrapped)
        if selection is None or self._kind(selection) not in _SELECTIONS:
            return wrapped
        condition, below, ids = map(int, selection.inputs)
        less, total = self._makers.get(condition), self._makers.get(below)
        is_wrap = self._reads(less, _Kind.LESS, ids, 0) and self._reads(total, _Kind.ADD, ids, self._shape(table)[0])
        return ids if is_wrap else wrapped

    def _reads(self, operation: Any, kind: int, ids: int, number: int) -> bool:
        """True if an operation is of a kind and reads the ids and a constant number."""
        if operation is None or self._kind(operation) != kind:
            return False
        first, second = map(int, operation.inputs)
        return first == ids and self._whole_numbers(second) == (number,)

    def _flattened(self, lookup: Any) -> Iterator[Any]:
        """Yields a lookup of a list of ids, between reshapes of the ids and of the rows."""
        ids, rows = int(lookup.inputs[1]), int(lookup.outputs[0])
        shapes = (self._shape(ids), self._shape(rows))
        signatures = [self._graph.tensors[tensor].shapeSignature for tensor in (ids, rows)]
        has_unknown_sizes = any(signature is not None and -1 in signature for signature in signatures)
        if len(shapes[0]) < 2 or has_unknown_sizes:
            yield from self._unpacked(lookup)
            return
        name, count = self._graph.tensors[rows].name, int(np.prod(shapes[0]))
        flat_ids = self._like(ids, name, "ids", (count,))
        flat_rows = self._like(rows, name, "rows", (count, *shapes[1][len(shapes[0]) :]))
        yield self._reshaped(ids, flat_ids, name)
        lookup.inputs = np.array([lookup.inputs[0], flat_ids], np.int32)
        lookup.outputs = np.array([flat_rows], np.int32)
        yield from self._unpacked(lookup)
        yield self._reshaped(flat_rows, rows, name)

    def _unpacked(self, lookup: Any) -> Iterator[Any]:
        """Yields a lookup; if the file holds its table in float16, the rows are then converted to float32."""
        maker, rows = self._makers.get(int(lookup.inputs[0])), int(lookup.outputs[0])
        yield lookup
        if maker is None or self._kind(maker) != _Kind.DEQUANTIZE:
            return
        table, types = int(maker.inputs[0]), schema.TensorType
        if self._graph.tensors[table].type != types.FLOAT16:
            return
        half = self._tensor(self._graph.tensors[rows].name, "half", self._shape(rows), types.FLOAT16)
        lookup.inputs, lookup.outputs = np.array([table, lookup.inputs[1]], np.int32), np.array([half], np.int32)
        options = schema.CastOptionsT()
        options.inDataType, options.outDataType = types.FLOAT16, types.FLOAT32
        yield self._operation(_Kind.CAST, (half,), rows, _Options.CastOptions, options)


def _sort_by_need(operations: list[Any], lookups: list[Any], outputs: set[int]) -> list[Any]:
    """Removes operations that nobody reads, and moves those that make the ids of lookups to the front."""
    for_ids = {int(lookup.inputs[1]) for lookup in lookups}
    needed, front, rest = outputs | for_ids, [], []
    for operation in reversed(operations):
        results = set(map(int, operation.outputs))
        if results & for_ids:
            for_ids |= set(map(int, operation.inputs))
            front.append(operation)
        elif results & needed:
            rest.append(operation)
        if results & (for_ids | needed):
            needed |= set(map(int, operation.inputs))
    return [*reversed(front), *reversed(rest)]


_INTEGERS = (schema.TensorType.INT32, schema.TensorType.INT64)


def simplify_slices(model: Any) -> None:
    """Rewrites slices and splits into slices that keep all axes, in place; same bits.

    - An index such as `states[:, 0]` removes an axis. XNNPACK and the GPU delegate take no such slice: one that keeps
      the axis is reshaped. Slices of a whole tensor become reshapes, and matrices get an axis of size 1, since the GPU
      delegate slices 3 or 4 axes. Slices of ids stay: no delegate takes them.
    - A split becomes slices: the GPU engine takes halves that are joined again in another order, as rotary positions
      are, for what was split, and computes with two halves in one buffer.
    """
    for graph in model.subgraphs:
        _SlicePass(model, graph).rewrite()


class _SlicePass(LiteGraphWriter):
    def rewrite(self) -> None:
        """Rewrites all slices with steps of 1 and constant bounds, and all splits."""
        rewritten: list[Any] = []
        for operation in self._graph.operators:
            if self._kind(operation) == _Kind.SPLIT:
                rewritten += self._parts(operation)
                continue
            bounds = self._bounds(operation) if self._kind(operation) == _Kind.STRIDED_SLICE else None
            rewritten += [operation] if bounds is None else self._sliced(operation, *bounds)
        self._graph.operators = rewritten
        self._remove_unused_tensors()

    def _parts(self, split: Any) -> Iterator[Any]:
        source = int(split.inputs[1])
        shape = self._shape(source)
        (axis,), start = self._whole_numbers(int(split.inputs[0])), 0
        for result in map(int, split.outputs):
            firsts, ends = [0] * len(shape), list(shape)
            firsts[axis], ends[axis] = start, start + self._shape(result)[axis]
            start = ends[axis]
            yield self._slice(source, result, firsts, ends)

    def _slice(self, source: int, result: int, firsts: list[int], ends: list[int]) -> Any:
        name, options = self._graph.tensors[result].name, schema.StridedSliceOptionsT()
        bounds = (firsts, ends, [1] * len(firsts))
        numbers = (self._constant(name, "bounds", np.array(values, np.int32)) for values in bounds)
        return self._operation(_Kind.STRIDED_SLICE, (source, *numbers), result, _Options.StridedSliceOptions, options)

    def _bounds(self, operation: Any) -> tuple[list[int], list[int]] | None:
        """Returns the first index and the one behind the last of each axis; None for a slice that stays as it is."""
        options, shape = operation.builtinOptions, self._shape(operation.inputs[0])
        begin, end, steps = (self._whole_numbers(int(number)) for number in operation.inputs[1:4])
        removes_axes = options.shrinkAxisMask or len(shape) == 2
        is_plain = not (options.newAxisMask or options.ellipsisMask or options.offset) and set(steps) == {1}
        of_ids = self._graph.tensors[operation.inputs[0]].type in _INTEGERS
        if of_ids or not (removes_axes and is_plain and len(begin) == len(end) == len(shape)):
            return None
        firsts, ends = [], []
        for axis, size in enumerate(shape):
            first, behind = (number + size if number < 0 else number for number in (begin[axis], end[axis]))
            firsts.append(0 if options.beginMask >> axis & 1 else first)
            ends.append(size if options.endMask >> axis & 1 else min(behind, size))
            if options.shrinkAxisMask >> axis & 1:
                ends[axis] = firsts[axis] + 1
        return firsts, ends

    def _sliced(self, operation: Any, firsts: list[int], ends: list[int]) -> Iterator[Any]:
        """Yields a slice with at least 3 axes, unless it is of the whole tensor, and the reshapes around it."""
        source, result = int(operation.inputs[0]), int(operation.outputs[0])
        name, shape = self._graph.tensors[result].name, self._shape(source)
        sizes = tuple(end - first for first, end in zip(firsts, ends, strict=True))
        if sizes == shape:
            yield self._reshaped(source, result, name)
            return
        missing = max(0, 3 - len(shape))
        if missing:
            wide = self._like(source, name, "axes", (*(1,) * missing, *shape))
            yield self._reshaped(source, wide, name)
            source = wide
        part = self._like(result, name, "part", (*(1,) * missing, *sizes))
        yield self._slice(source, part, [0] * missing + firsts, [1] * missing + ends)
        yield self._reshaped(part, result, name)


def keep_head_float(content: bytes, model: keras.Model) -> bytes:
    """Replaces the weights of a regression head, if the model of a `.tflite` file has one, by its float32 weights.

    A mean of 100,000 is infinite in float16, and one of 2,001 becomes 2,002. The scale of the targets is folded into
    the last product of the file.
    """
    folded = folded_heads(model)
    if not folded:
        return content
    kernel, bias = (
        next(values for path, values in folded.items() if path.endswith(name)) for name in ("/kernel", "/bias")
    )
    written = schema.ModelT.InitFromPackedBuf(content)
    for graph in written.subgraphs:
        _HeadPass(written, graph).replace(kernel.T, bias)
    return write_model(written)


class _HeadPass(LiteGraphWriter):
    def replace(self, *weights: Any) -> None:
        """Replaces the weights of the last product; without the operations that only made the old ones."""
        operations, outputs = self._graph.operators, set(self._graph.outputs)
        last = next((operation for operation in operations if set(operation.outputs) & outputs), None)
        if last is None or self._kind(last) != _Kind.FULLY_CONNECTED:
            raise RuntimeError("the graph of a regression must end in a product with weights")
        head = [self._constant(b"regression_head", "float", np.asarray(values, np.float32)) for values in weights]
        last.inputs = np.array([last.inputs[0], *head], np.int32)
        read = outputs.union(*(map(int, operation.inputs) for operation in operations))
        self._graph.operators = [operation for operation in operations if set(operation.outputs) & read]
