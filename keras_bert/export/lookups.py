"""Simplifies the lookups in tables of a `.tflite` file, so that delegates can run them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.lite_writer import LiteGraphWriter

_Kind = schema.BuiltinOperator
_SELECTIONS = (_Kind.SELECT, _Kind.SELECT_V2)


def simplify_lookups(model: Any) -> None:
    """Rewrites the lookups of rows in a `ModelT` with all data inside, in place; answers stay the same bits.

    - Keras adds the length of a table to negative ids. Ids of tokens and segments are never negative, and few delegates
    compute with integers: the lookup reads the ids themselves, and LiteRT refuses a negative id.
    - Ids become a list instead of a matrix: the GPU delegate has no other lookup.
    - The operations on ids come first, so that those that stay on the processor do not split a delegate's part.
    """
    for graph in model.subgraphs:
        _Writer(model, graph).simplify()


class _Writer(LiteGraphWriter):
    """Rewrites the lookups of a graph."""

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
            yield lookup
            return
        name, count = self._graph.tensors[rows].name, int(np.prod(shapes[0]))
        flat_ids = self._like(ids, name, "ids", (count,))
        flat_rows = self._like(rows, name, "rows", (count, *shapes[1][len(shapes[0]) :]))
        yield self._reshaped(ids, flat_ids, name)
        lookup.inputs = np.array([lookup.inputs[0], flat_ids], np.int32)
        lookup.outputs = np.array([flat_rows], np.int32)
        yield lookup
        yield self._reshaped(flat_rows, rows, name)


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
