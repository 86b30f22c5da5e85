"""Rewrites the operands of a `.tflite` file's arithmetic into forms that compilers of accelerators take; same bits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from keras_bert.export.lite_writer import LiteGraphWriter

_Kind = schema.BuiltinOperator
_Options = schema.BuiltinOptions
_ELEMENTWISE = (_Kind.ADD, _Kind.SUB, _Kind.MUL, _Kind.DIV, _Kind.MAXIMUM, _Kind.MINIMUM, _Kind.SQUARED_DIFFERENCE)
# Operations that LiteRT computes in the memory of an operand.
_IN_PLACE = (_Kind.ADD, _Kind.SUB, _Kind.MUL, _Kind.DIV, _Kind.SOFTMAX)
# The input with 1 for a token and 0 for padding.
_MASK = b"padding_mask"
_NO_ACTIVATION = schema.ActivationFunctionType.NONE


def simplify_operands(model: Any) -> None:
    """Rewrites the arithmetic of a `ModelT` with all data inside, in place; answers stay the same bits.

    - No negation is left: the compiler for Intel's NPU has none. `-a * c + b`, as in each normalization, becomes
      `b - a * c`, and any other negation a product with -1.
    - An operand with fewer axes gets axes of size 1 in front, except constants of one row. LiteRT's GPU engine reads
      two axes as rows and channels, so that (32, 384) does not match (1, 32, 384). And its program that adds a mask
      with fewer axes to int8 scores does not compile, after which all answers are 0.
    - A product with weights whose result is a matrix gets its rows as a matrix, too: the engine keeps other axes.
    - The mask becomes float by a lookup in [0, 1], not by `CAST`: Ethos-U has no cast of int32.
    """
    for number, graph in enumerate(model.subgraphs):
        masks = [
            given.tensorIndex
            for signature in model.signatureDefs or ()
            for given in signature.inputs
            if signature.subgraphIndex == number and given.name == _MASK
        ]
        _OperandPass(model, graph).rewrite(masks)


def read_integers_directly(model: Any) -> None:
    """Removes `DEQUANTIZE` and `QUANTIZE` from the operands of sums, products and means, in place.

    Each operand may have its own grid, so that the row of a table need not be rounded to another grid first.
    """
    for graph in model.subgraphs:
        _GridPass(model, graph).rewrite()


def protect_reshaped_tensors(model: Any) -> None:
    """Keeps LiteRT from overwriting tensors that are read later, in place; answers stay the same bits elsewhere.

    A reshape shares the memory of its input, and LiteRT's own kernels write a sum into the memory of an operand that
    nothing else reads. Where `b` is `a` with another shape, `b + c` then overwrites `a`, even if `a` is read later, as
    the embeddings are by DeBERTa's convolution behind the first block. The later reader gets a reshape of `b`, which so
    has two readers. XNNPACK plans memory of its own, but does not run activations of 16 bits.
    """
    for graph in model.subgraphs:
        _MemoryPass(model, graph).rewrite()


class _MemoryPass(LiteGraphWriter):
    """Rewrites the readers of tensors that share memory with reshaped ones."""

    def rewrite(self) -> None:
        """Rewrites all readers of a tensor that LiteRT overwrites before, and removes reshapes that nobody reads."""
        while (overwritten := self._find_overwritten()) is not None:
            place, number, reshaped = overwritten
            reader, name = self._graph.operators[place], self._graph.tensors[number].name
            again = self._like(number, name, "again", self._shape(number))
            given = np.asarray(reader.inputs)
            reader.inputs = np.where(given == number, again, given).astype(np.int32)
            self._graph.operators.insert(place, self._reshaped(reshaped, again, name))
        read = {*map(int, self._graph.outputs)}.union(*(map(int, made.inputs) for made in self._graph.operators))
        self._graph.operators = [
            made for made in self._graph.operators if self._kind(made) != _Kind.RESHAPE or int(made.outputs[0]) in read
        ]
        self._remove_unused_tensors()

    def _find_overwritten(self) -> tuple[int, int, int] | None:
        """A reader's place, the tensor that it reads, and the reshaped tensor whose only reader overwrites this one."""
        shared: dict[int, int] = {}  # reshaped tensor -> the first tensor in its memory
        readers: dict[int, list[int]] = {}
        for place, operation in enumerate(self._graph.operators):
            if self._kind(operation) == _Kind.RESHAPE:
                source = int(operation.inputs[0])
                shared[int(operation.outputs[0])] = shared.get(source, source)
            for number in map(int, operation.inputs):
                readers.setdefault(number, []).append(place)
        for reshaped, source in shared.items():
            places = readers.get(reshaped, [])
            if len(places) == 1 and self._kind(self._graph.operators[places[0]]) in _IN_PLACE:
                for number in (source, *(other for other, first in shared.items() if first == source)):
                    if later := [place for place in readers.get(number, ()) if place > places[0]]:
                        return later[0], number, reshaped
        return None


class _GridPass(LiteGraphWriter):
    """Removes roundings from one grid to another from a graph."""

    def rewrite(self) -> None:
        """Rewrites the operands of all sums, differences, products and means."""
        makers = {int(operation.outputs[0]): operation for operation in self._graph.operators}
        for operation in self._graph.operators:
            if self._kind(operation) in (_Kind.ADD, _Kind.SUB, _Kind.MUL, _Kind.MEAN):
                operation.inputs = np.array([self._source(makers, int(n)) for n in operation.inputs], np.int32)
        needed, kept = set(map(int, self._graph.outputs)), []
        for operation in reversed(self._graph.operators):
            if needed & set(map(int, operation.outputs)):
                needed |= set(map(int, operation.inputs))
                kept.append(operation)
        self._graph.operators = kept[::-1]
        self._remove_unused_tensors()

    def _source(self, makers: Mapping[int, Any], number: int) -> int:
        """The tensor of the same type that a tensor was rounded from; the tensor itself if there is none."""
        rounding = makers.get(number)
        if rounding is None or self._kind(rounding) != _Kind.QUANTIZE:
            return number
        unpacking, tensors = makers.get(int(rounding.inputs[0])), self._graph.tensors
        if unpacking is None or self._kind(unpacking) != _Kind.DEQUANTIZE:
            return number
        source = int(unpacking.inputs[0])
        return source if tensors[source].type == tensors[number].type else number


class _OperandPass(LiteGraphWriter):
    def rewrite(self, masks: Sequence[int]) -> None:
        """Rewrites all negations, operands with fewer axes, and casts of the inputs `masks`."""
        operations = self._graph.operators
        self._makers = {int(operation.outputs[0]): operation for operation in operations}
        self._readers = Counter(int(number) for operation in operations for number in operation.inputs)
        self._readers.update(map(int, self._graph.outputs))
        for operation in operations:
            operation.inputs = np.array(operation.inputs, np.int32)
            options = operation.builtinOptions
            if self._kind(operation) == _Kind.ADD and options.fusedActivationFunction == _NO_ACTIVATION:
                self._subtract(operation)
        self._widened: dict[tuple[int, tuple[int, ...]], int] = {}
        rewritten: list[Any] = []
        for operation in operations:
            if self._kind(operation) == _Kind.NEG:
                if not self._readers[int(operation.outputs[0])]:
                    continue
                operation = self._multiplied(operation)
            if self._kind(operation) == _Kind.CAST and int(operation.inputs[0]) in masks:
                rewritten += self._looked_up(operation)
                continue
            if self._kind(operation) in _ELEMENTWISE:
                rewritten += self._widen(operation)
            elif self._kind(operation) == _Kind.FULLY_CONNECTED:
                rewritten += self._flatten(operation)
            rewritten.append(operation)
        self._graph.operators = rewritten
        self._remove_unused_tensors()

    def _subtract(self, total: Any) -> None:
        """Turns `-a * c + b` into `b - a * c`, if nothing else reads the product or the negation."""
        for place, number in enumerate(map(int, total.inputs)):
            product = self._makers.get(number)
            if product is None or self._kind(product) != _Kind.MUL or self._readers[number] > 1:
                continue
            for factor, negated in enumerate(map(int, product.inputs)):
                negation = self._makers.get(negated)
                if negation is not None and self._kind(negation) == _Kind.NEG and self._readers[negated] == 1:
                    self._readers[negated] = 0
                    product.inputs[factor] = negation.inputs[0]
                    total.inputs = np.array([total.inputs[1 - place], number], np.int32)
                    total.opcodeIndex = self._code(_Kind.SUB)
                    total.builtinOptionsType, total.builtinOptions = _Options.SubOptions, schema.SubOptionsT()
                    return

    def _multiplied(self, negation: Any) -> Any:
        """A product with -1 that replaces a negation of floats; other negations stay."""
        given, result = int(negation.inputs[0]), int(negation.outputs[0])
        if self._graph.tensors[given].type != schema.TensorType.FLOAT32:
            return negation
        factor = self._constant(self._graph.tensors[result].name, "minus_one", np.array([-1.0], np.float32))
        return self._operation(_Kind.MUL, (given, factor), result, _Options.MulOptions, schema.MulOptionsT())

    def _looked_up(self, cast: Any) -> Iterator[Any]:
        """Yields a lookup of a mask's numbers in place of a cast to floats."""
        mask, result = int(cast.inputs[0]), int(cast.outputs[0])
        name, count = self._graph.tensors[result].name, int(np.prod(self._shape(mask)))
        flat, rows = self._like(mask, name, "ids", (count,)), self._tensor(name, "rows", (count, 1))
        table = self._constant(name, "table", np.array([[0.0], [1.0]], np.float32))
        yield self._reshaped(mask, flat, name)
        yield self._operation(_Kind.GATHER, (table, flat), rows, _Options.GatherOptions, schema.GatherOptionsT())
        yield self._reshaped(rows, result, name)

    def _widen(self, operation: Any) -> Iterator[Any]:
        """Gives each operand as many axes as the result has; yields a reshape where others read the operand, too."""
        axes = len(self._shape(int(operation.outputs[0])))
        for place, number in enumerate(map(int, operation.inputs)):
            shape = self._shape(number)
            wide = (*(1,) * (axes - len(shape)), *shape)
            chain = [number, *self._unpacked(number)]
            is_constant = self._model.buffers[self._graph.tensors[chain[-1]].buffer].data is not None
            if len(shape) in (0, axes) or (is_constant and set(shape[:-1]) <= {1}):
                continue
            if is_constant and all(self._readers[tensor] == 1 for tensor in chain):
                for tensor in chain:
                    self._graph.tensors[tensor].shape = np.array(wide, np.int32)
                continue
            if (number, wide) not in self._widened:
                name = self._graph.tensors[number].name
                self._widened[number, wide] = self._like(number, name, "axes", wide)
                yield self._reshaped(number, self._widened[number, wide], name)
            operation.inputs[place] = self._widened[number, wide]

    def _flatten(self, product: Any) -> Iterator[Any]:
        """Yields the reshape of rows into a matrix in front of a product that gives a matrix."""
        rows = int(product.inputs[0])
        shape, name = self._shape(rows), self._graph.tensors[rows].name
        if len(self._shape(int(product.outputs[0]))) == 2 < len(shape):
            product.inputs[0] = self._like(rows, name, "matrix", (int(np.prod(shape[:-1])), shape[-1]))
            yield self._reshaped(rows, int(product.inputs[0]), name)

    def _unpacked(self, number: int) -> list[int]:
        """The tensor that `DEQUANTIZE` makes this one of; empty for other tensors."""
        maker = self._makers.get(number)
        return [int(maker.inputs[0])] if maker is not None and self._kind(maker) == _Kind.DEQUANTIZE else []
