"""Interprets the functions of an `.mlpackage`, written in Core ML's language MIL, in NumPy: nothing on Linux runs them.

Each operation computes in float32, and its outputs are rounded to the types that the file declares. The file is read
from the disk with coremltools' protocol buffers and its reader of weights, so that what is run is what was written.
"""

import contextlib
import dataclasses
import io
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit, softmax

from components.dsl.errors import install_command

Array = np.ndarray[Any, Any]


class MilOperation(NamedTuple):
    """An operation of a function; inputs are names of values by argument, outputs have name, NumPy type and shape."""

    kind: str
    inputs: Mapping[str, str | list[str]]
    outputs: Sequence[tuple[str, Any, tuple[int, ...]]]

    def run(self, values: dict[str, Any]) -> None:
        """Adds the outputs to the values by name."""
        given = {
            name: [values[item] for item in key] if isinstance(key, list) else values[key]
            for name, key in self.inputs.items()
        }
        results = _OPERATIONS[self.kind](**given)
        for (name, kind, shape), result in zip(
            self.outputs, results if isinstance(results, list) else [results], strict=True
        ):
            if np.shape(result) != shape:
                raise ValueError(f"{name} must have the shape {shape}, got {np.shape(result)}")
            # What exceeds float16 becomes infinite there, too.
            with np.errstate(over="ignore"):
                values[name] = _widened(np.asarray(result).astype(kind))


@dataclasses.dataclass(frozen=True)
class MilFunction:
    """A function of a file, which is called with its inputs by name; `constants` do not depend on the inputs."""

    inputs: tuple[str, ...]
    outputs: dict[str, tuple[int, ...]]
    constants: Mapping[str, Any]
    operations: Sequence[MilOperation]

    def __call__(self, **inputs: Array) -> dict[str, Array]:
        """The outputs by name for inputs by name."""
        values = {**self.constants, **inputs}
        for operation in self.operations:
            operation.run(values)
        return {name: values[name] for name in self.outputs}


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Hides coremltools' progress bars, and what it logs when it finds other libraries than on macOS."""
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("coremltools").setLevel(logging.ERROR)
        yield


def read_functions(file: Path) -> dict[str, MilFunction]:
    """The functions of a `model.mlmodel` by name; weights are read from `weights/weight.bin` beside it."""
    with silenced():
        from coremltools.converters.mil.frontend.milproto.load import TranscriptionContext, _load_value

    context = TranscriptionContext(str(file.parent / "weights"))
    functions = {}
    for name, function in read_specification(file).mlProgram.functions.items():
        block = function.block_specializations[function.opset]
        constants: dict[str, Any] = {}
        operations = []
        for written in block.operations:
            outputs = [(output.name, *_type_of(output)) for output in written.outputs]
            if written.type == "const":
                try:
                    constants[outputs[0][0]] = _widened(_load_value(context, written.attributes["val"]))
                except (RuntimeError, ValueError, IndexError) as error:
                    raise ValueError(f"the weights of {file} cannot be read: {error}") from None
                continue
            if written.type not in _OPERATIONS:
                raise ValueError(
                    f"{file} has the operation {written.type}, which the interpreter does not know; it knows "
                    f"{', '.join(sorted(_OPERATIONS))}"
                )
            inputs: dict[str, str | list[str]] = {}
            for argument, bound in written.inputs.items():
                keys = [binding.name or f"{outputs[0][0]}.{argument}.{n}" for n, binding in enumerate(bound.arguments)]
                for key, binding in zip(keys, bound.arguments, strict=True):
                    if not binding.name:
                        constants[key] = _widened(_load_value(context, binding.value))
                inputs[argument] = keys if argument == "values" else keys[0]
            operation = MilOperation(written.type, inputs, outputs)
            if written.type.startswith("constexpr_"):
                operation.run(constants)
            else:
                operations.append(operation)
        shapes = {name: shape for operation in operations for name, _, shape in operation.outputs}
        results = {output: shapes[output] for output in block.outputs}
        functions[name] = MilFunction(tuple(given.name for given in function.inputs), results, constants, operations)
    return functions


def count_operations(file: Path) -> dict[str, int]:
    """The operations of a `model.mlmodel` by kind, without constants; all functions have the same ones."""
    function = next(iter(read_specification(file).mlProgram.functions.values()))
    operations = function.block_specializations[function.opset].operations
    return dict(Counter(operation.type for operation in operations if operation.type != "const").most_common())


def read_specification(file: Path) -> Any:
    """The content of a `model.mlmodel`, a `CoreML.Specification.Model`."""
    from google.protobuf.message import DecodeError

    try:
        with silenced():
            from coremltools.proto import Model_pb2
    except ImportError:
        way_out = install_command("accelerators")
        raise ValueError(f"{file} can only be read with the Python package coremltools: {way_out}") from None
    try:
        return Model_pb2.Model.FromString(file.read_bytes())
    except (DecodeError, OSError) as error:
        raise ValueError(f"{file} must be the model of an .mlpackage: {error}") from None


def _type_of(output: Any) -> tuple[Any, tuple[int, ...]]:
    """The NumPy type and the shape of an output."""
    from coremltools.converters.mil.frontend.milproto.helper import proto_to_types
    from coremltools.converters.mil.mil import types

    kind = proto_to_types(output.type)
    if not types.is_tensor(kind):
        return types.nptype_from_builtin(kind), ()
    return types.nptype_from_builtin(kind.get_primitive()), tuple(kind.get_shape())


def _widened(value: Any) -> Any:
    """A value whose float16 numbers are float32, which operations compute in."""
    is_half = isinstance(value, np.ndarray | np.generic) and value.dtype == np.float16
    return np.asarray(value, np.float32) if is_half else value


def _concat(values: Sequence[Array], axis: int, interleave: bool = False) -> Array:
    if interleave:
        raise ValueError("concat must have no interleave in the interpreter, got true")
    return np.concatenate(values, axis)


def _gather(x: Array, indices: Array, axis: int = 0, batch_dims: int = 0, validate_indices: bool = False) -> Array:
    if batch_dims:
        raise ValueError(f"gather must have no batch_dims in the interpreter, got {batch_dims}")
    return np.take(x, indices, axis)


def _matmul(x: Array, y: Array, transpose_x: bool = False, transpose_y: bool = False) -> Array:
    return (np.swapaxes(x, -1, -2) if transpose_x else x) @ (np.swapaxes(y, -1, -2) if transpose_y else y)


def _linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    product = x @ weight.T
    return product if bias is None else product + bias


def _gelu(x: Array, mode: str = "EXACT") -> Array:
    if mode == "EXACT":
        return x * (0.5 + 0.5 * erf(x / np.sqrt(2, dtype=np.float32)))
    if mode == "SIGMOID_APPROXIMATION":
        return x * expit(1.702 * x)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _layer_norm(
    x: Array, axes: Array | None = None, gamma: Array | None = None, beta: Array | None = None, epsilon: float = 1e-5
) -> Array:
    axis = None if axes is None else tuple(axes)
    mean, variance = (reduced(x, axis=axis, keepdims=True) for reduced in (np.mean, np.var))
    scaled = (x - mean) / np.sqrt(variance + epsilon) * (1 if gamma is None else gamma)
    return scaled if beta is None else scaled + beta


def _reduction(reduce: Callable[..., Any]) -> Callable[..., Array]:
    def compute(x: Array, axes: Array | None = None, keep_dims: bool = False) -> Array:
        return reduce(x, axis=None if axes is None else tuple(axes), keepdims=bool(keep_dims))

    return compute


def _pad(x: Array, pad: Array, mode: str = "constant", constant_val: float = 0.0) -> Array:
    if mode != "constant":
        raise ValueError(f"pad must have the mode constant in the interpreter, got {mode}")
    # A pair for each of the last axes.
    pairs = np.reshape(pad, (-1, 2)).tolist()
    return np.pad(x, [*[(0, 0)] * (x.ndim - len(pairs)), *pairs], constant_values=constant_val)


def _slice(
    x: Array,
    begin: Array,
    end: Array,
    stride: Array | None = None,
    begin_mask: Array | None = None,
    end_mask: Array | None = None,
    squeeze_mask: Array | None = None,
) -> Array:
    places: list[Any] = []
    for axis in range(x.ndim):
        if squeeze_mask is not None and squeeze_mask[axis]:
            places.append(begin[axis])
            continue
        first = None if begin_mask is not None and begin_mask[axis] else begin[axis]
        last = None if end_mask is not None and end_mask[axis] else end[axis]
        places.append(slice(first, last, None if stride is None else stride[axis]))
    return x[tuple(places)]


def _slice_by_size(x: Array, begin: Array, size: Array) -> Array:
    ends = [None if width == -1 else first + width for first, width in zip(begin, size, strict=True)]
    return x[tuple(slice(first, last) for first, last in zip(begin, ends, strict=True))]


def _split(x: Array, axis: int, num_splits: int | None = None, split_sizes: Array | None = None) -> list[Array]:
    sections: Any = num_splits if split_sizes is None else np.cumsum(split_sizes)[:-1]
    return np.split(x, sections, axis)


def _dense_of_integers(data: Array, scale: Array, offset: Array | None = None) -> Array:
    """Weights that share a scale by block, along each axis."""
    sizes = [size // blocks for size, blocks in zip(data.shape, scale.shape, strict=True)]
    whole = data if offset is None else data - _repeated(offset, sizes).astype(np.int32)
    return whole * _repeated(scale, sizes)


def _dense_of_palette(indices: Array, lut: Array) -> Array:
    """Weights by their places in the palettes, which are (..., colours, 1), of their blocks."""
    if lut.shape[-1] != 1:
        raise ValueError(f"palettes must hold numbers in the interpreter, got vectors of {lut.shape[-1]}")
    sizes = [size // blocks for size, blocks in zip(indices.shape, lut.shape[:-2], strict=True)]
    return np.take_along_axis(_repeated(lut[..., 0], sizes), indices[..., None].astype(np.int64), -1)[..., 0]


def _repeated(values: Array, sizes: Sequence[int]) -> Array:
    for axis, size in enumerate(sizes):
        values = np.repeat(values, size, axis) if size > 1 else values
    return values


_NAMED_AS_IN_NUMPY = (
    *("add", "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
    *("logical_and", "logical_or"),
)
_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "constexpr_blockwise_shift_scale": _dense_of_integers,
    "constexpr_lut_to_dense": _dense_of_palette,
    **{
        name: (lambda x, y, compute=compute: compute(x, y))
        for name, compute in {
            "sub": np.subtract,
            "mul": np.multiply,
            "real_div": np.divide,
            "pow": np.power,
            **{name: getattr(np, name) for name in _NAMED_AS_IN_NUMPY},
        }.items()
    },
    **{
        name: (lambda x, compute=compute: compute(x))
        for name, compute in {
            "logical_not": np.logical_not,
            "abs": np.abs,
            "erf": erf,
            "exp": np.exp,
            "relu": lambda x: np.maximum(x, 0),
            "sigmoid": expit,
            "silu": lambda x: x * expit(x),
            "sqrt": np.sqrt,
            "square": np.square,
            "tanh": np.tanh,
        }.items()
    },
    "reduce_mean": _reduction(np.mean),
    "reduce_sum": _reduction(np.sum),
    "reduce_max": _reduction(np.max),
    "reduce_min": _reduction(np.min),
    "cast": lambda x, dtype: x.astype(dtype.replace("fp", "float")),
    "concat": _concat,
    "expand_dims": lambda x, axes: np.expand_dims(x, tuple(axes)),
    "gather": _gather,
    "gather_along_axis": lambda x, indices, axis=0, validate_indices=False: np.take_along_axis(x, indices, axis),
    "gelu": _gelu,
    "layer_norm": _layer_norm,
    "linear": _linear,
    "matmul": _matmul,
    "pad": _pad,
    # A size of 0 means the size of the input.
    "reshape": lambda x, shape: x.reshape([size or x.shape[axis] for axis, size in enumerate(shape)]),
    "rsqrt": lambda x, epsilon=1e-12: 1 / np.sqrt(x + epsilon),
    "select": lambda cond, a, b: np.where(cond, a, b),
    "slice_by_index": _slice,
    "slice_by_size": _slice_by_size,
    "softmax": lambda x, axis=-1: softmax(x, axis),
    "split": _split,
    "squeeze": lambda x, axes=None: np.squeeze(x, None if axes is None else tuple(axes)),
    "stack": lambda values, axis: np.stack(values, axis),
    "tile": lambda x, reps: np.tile(x, reps),
    "transpose": lambda x, perm: np.transpose(x, perm),
}
