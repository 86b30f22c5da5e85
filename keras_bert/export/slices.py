"""Rewrites slices of a `.tflite` file so that delegates, XNNPACK among them, can run them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.lite_writer import LiteGraphWriter

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
_INTEGERS = (schema.TensorType.INT32, schema.TensorType.INT64)


def keep_sliced_axes(model: Any) -> None:
    """Splits each slice that removes axes into a slice that keeps them and a reshape, in place; same bits.

    An index such as `states[:, 0]` removes an axis. XNNPACK and the GPU delegate take no such slice. Slices of a whole
    tensor become reshapes, and matrices get an axis of size 1, since the GPU delegate slices 3 or 4 axes. Slices of ids
    stay: no delegate takes them.
    """
    for graph in model.subgraphs:
        _Writer(model, graph).rewrite()


class _Writer(LiteGraphWriter):
    """Rewrites the slices of a graph."""

    def rewrite(self) -> None:
        """Rewrites all slices with steps of 1 and constant bounds."""
        rewritten: list[Any] = []
        for operation in self._graph.operators:
            bounds = self._bounds(operation) if self._kind(operation) == _Kind.STRIDED_SLICE else None
            rewritten += [operation] if bounds is None else self._sliced(operation, *bounds)
        self._graph.operators = rewritten
        self._remove_unused_tensors()

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
        bounds = ([0] * missing + firsts, [1] * missing + ends, [1] * (missing + len(shape)))
        numbers = (self._constant(name, "bounds", np.array(values, np.int32)) for values in bounds)
        yield self._operation(
            _Kind.STRIDED_SLICE,
            (source, *numbers),
            part,
            _Options.StridedSliceOptions,
            schema.StridedSliceOptionsT(),
        )
        yield self._reshaped(part, result, name)
