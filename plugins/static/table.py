"""The numbers of a static model for programs without an interpreter."""

from typing import Any, NamedTuple

import numpy as np

from keras_bert.models.encoder import config_of
from keras_bert.tasks.embedding import cosine_similarity
from plugins.static.models import token_vectors
from plugins.static.settings import Static

Array = np.ndarray[Any, Any]

# The path of the range of token vectors in a quantized model, and what float32 leaves of whole numbers of steps.
_TABLE_TAP, _ROUNDING = "token_embedding/output_tap", 1e-2
_IN_A_LINE = 24


class StaticTable(NamedTuple):
    """The numbers of a file: `table` int8 (tokens, columns), `factors` (tokens,), `projection` (columns, width)."""

    table: Array
    zero: int
    factors: Array
    ignored: tuple[int, ...]
    projection: Array | None
    is_normalized: bool

    @classmethod
    def of(cls, task: Any) -> "StaticTable":
        """The numbers of a static model; a table on the grid of an int8 recipe stays, others get a scale a row."""
        variant = config_of(task.model).variant
        assert isinstance(variant, Static)
        table = token_vectors(task)
        weights = np.asarray(task.model.get_layer("block_0").token_weights)
        dense, dimension = task.head().get("projections", []), task.head().get("dimension")
        projection = None
        for layer in task.model.get_layer("projections").dense if dense else ():
            kernel = np.asarray(layer.kernel)
            projection = kernel if projection is None else projection @ kernel
        if projection is None:
            table = table[:, :dimension]
        else:
            projection = projection[:, :dimension]
        grid = (1.0, 0) if variant.packed else _grid_of(task, table)
        step, zero = grid or (np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-12) / 127, 0)
        integers = (np.rint(table / step) + zero).astype("int8")
        factors = (np.ravel(step) * weights).astype("float32")
        return cls(integers, zero, factors, variant.ignored, projection, task.normalize)

    @property
    def width(self) -> int:
        """The width of the vectors."""
        return int((self.table if self.projection is None else self.projection).shape[1])

    def embed(self, ids: Array) -> Array:
        """The vector of a text by its ids, as the files compute it."""
        counted = ids[~np.isin(ids, self.ignored)]
        rows = (self.table[counted].astype("float32") - self.zero) * self.factors[counted, None]
        vector = rows.mean(axis=0) if len(rows) else np.ones(self.table.shape[1], "float32")
        vector = vector if self.projection is None else vector @ self.projection
        return vector / np.sqrt(np.maximum(np.square(vector).sum(), 1e-12)) if self.is_normalized else vector

    def least_cosine(self, task: Any, rows: Any) -> float:
        """The least cosine of the vectors of rows of inputs with those of the model."""
        theirs = np.stack([outputs[task.output_name] for outputs in task.forward(rows)])
        masked = zip(rows["token_ids"], rows["padding_mask"], strict=True)
        ours = np.stack([self.embed(ids[mask == 1]) for ids, mask in masked])
        return float(np.diag(cosine_similarity(ours, theirs)).min())

    def as_bytes(self, space: str) -> bytes:
        """Little-endian: sizes as int32, the space, ignored ids as int32, factors, projection as float32, int8 rows."""
        flags = self.zero, self.projection is not None, self.is_normalized, len(self.ignored)
        sizes = np.array([*self.table.shape, self.width, *flags], "<i4").tobytes()
        floats = [self.factors] if self.projection is None else [self.factors, self.projection]
        arrays = [np.array(self.ignored, "<i4"), *(array.astype("<f4") for array in floats), self.table]
        return b"STATICV1" + sizes + space.encode("ascii") + b"".join(array.tobytes() for array in arrays)

    def as_constants(self, space: str) -> str:
        """The constants of a header of C; `space` is the identifier of the space of the vectors."""
        tokens, columns = self.table.shape
        lines = [
            "/* Vectors of another space cannot be compared with those of this model. */",
            f'#define STATIC_MODEL_SPACE "{space}"',
            f"#define STATIC_MODEL_TOKENS {tokens}",
            f"#define STATIC_MODEL_COLUMNS {columns}",
            f"#define STATIC_MODEL_WIDTH {self.width}",
            f"#define STATIC_MODEL_ZERO ({self.zero})",
            f"#define STATIC_MODEL_IS_PROJECTED {int(self.projection is not None)}",
            f"#define STATIC_MODEL_IS_NORMALIZED {int(self.is_normalized)}",
            "",
            "/* (tokens, columns). */",
            _array("int8_t", "table", self.table),
            "/* The step of a row's integers times the weight of its token. */",
            _array("float", "factors", self.factors),
            "/* Ids that never count; the first one may be of no token. */",
            _array("int32_t", "ignored", np.array(self.ignored or (-1,))),
        ]
        if self.projection is not None:
            lines += ["/* (columns, width). */", _array("float", "projection", self.projection.astype("float32"))]
        return "\n".join(lines)


def _grid_of(task: Any, table: Array) -> tuple[float, int] | None:
    """The step and the zero of the int8 grid that a table is on after quantization; None if it is on none."""
    ranges = {} if task.quantization is None else task.quantization.ranges
    if _TABLE_TAP not in ranges:
        return None
    low, high = ranges[_TABLE_TAP]
    step = (high - low) / 255
    places = table / step
    is_on_grid = np.abs(places - np.rint(places)).max() < _ROUNDING
    return (step, int(-128 - np.rint(low / step))) if is_on_grid else None


def _array(kind: str, name: str, values: Array) -> str:
    """A constant of C; floats have the nine digits that give all bits back."""
    words = [f"{value:.9g}" if kind == "float" else str(value) for value in values.ravel().tolist()]
    words = [f"{word}f" if kind == "float" and set(word) & set(".e") else word for word in words]
    lines = ("  " + ", ".join(words[start : start + _IN_A_LINE]) for start in range(0, len(words), _IN_A_LINE))
    return f"static const {kind} static_model_{name}[] = {{\n" + ",\n".join(lines) + "\n};"
