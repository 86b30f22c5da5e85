"""The export targets `static_c` and `static_table`: static models for programs without an interpreter."""

import abc
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits
from plugins.static.settings import Static

Array = np.ndarray[Any, Any]

HEADER = ExportedFile(
    "static_c/static_model.h", "model", "int8 token vectors in a header of C, which needs no runtime", takes_ids=False
)
TABLE = ExportedFile(
    "static_table/static_model.bin", "model", "int8 token vectors for `StaticModel.kt` and `.swift`", takes_ids=False
)
_HERE = Path(__file__).parent
CLIENTS = (_HERE / "StaticModel.kt", _HERE / "StaticModel.swift")
# The path of the range of token vectors in a quantized model, and what float32 leaves of whole numbers of steps.
_TABLE_TAP, _ROUNDING = "token_embedding/output_tap", 1e-2
_IN_A_LINE = 24


class StaticTarget(ExportTarget):
    """The base class of files of static models that need no interpreter: one with the numbers of a `StaticTable`."""

    measured_by = "tflite"
    libraries = ("keras",)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """See `ExportTarget`; whether a model has segments is known where its graph is."""
        if traits.task not in (None, "embedding", "retrieval"):
            return f"its file makes vectors of texts, and the task is {traits.task}"
        if traits.variant != "static" and traits.has_segments is not None:
            return "only static models have such a file, as those of student.kind = 'static'"
        return None

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        from keras_bert.tasks.embedding import Embedding

        self.check(source.task, source.recipe)
        assert isinstance(source.task, Embedding)
        path = source.folder / self.written[0].name
        path.parent.mkdir(parents=True)
        path.write_bytes(self.content(StaticTable.of(source.task), source.task.space))

    @abc.abstractmethod
    def content(self, numbers: "StaticTable", space: str) -> bytes:
        """The content of the file; `space` is the identifier of the space of the vectors."""

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; the least cosine of the vectors of the file and of the float model."""
        from keras_bert.tasks.embedding import cosine_similarity

        table, rows = StaticTable.of(source.task), sample.features
        theirs = np.stack([outputs[source.task.output_name] for outputs in source.task.forward(rows)])
        masked = zip(rows["token_ids"], rows["padding_mask"], strict=True)
        ours = np.stack([table.embed(ids[mask == 1]) for ids, mask in masked])
        least = float(np.diag(cosine_similarity(ours, theirs)).min())
        return {"least_cosine": round(least, 6), "bytes": (source.folder / file.name).stat().st_size}


class StaticC(StaticTarget):
    """Writes a static model as a header of C: a table of int8, a factor a token, and a dense layer if there is one."""

    name = "static_c"
    written = (HEADER,)

    def content(self, numbers: "StaticTable", space: str) -> bytes:
        """The code of `static_model.h` with the numbers as constants."""
        code = (_HERE / "static_model.h").read_text(encoding="utf-8")
        return code.replace("@CONSTANTS@", _constants(numbers, space)).encode()


class StaticFile(StaticTarget):
    """Writes a static model as bytes, and the classes that read them: Kotlin and Swift."""

    name = "static_table"
    written = (TABLE,)

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        super().write(source)
        for client in CLIENTS:
            shutil.copyfile(client, (source.folder / TABLE.name).with_name(client.name))

    def content(self, numbers: "StaticTable", space: str) -> bytes:
        """Little-endian: sizes as int32, the space, ignored ids as int32, factors, projection as float32, int8 rows."""
        flags = numbers.zero, numbers.projection is not None, numbers.is_normalized, len(numbers.ignored)
        sizes = np.array([*numbers.table.shape, numbers.width, *flags], "<i4").tobytes()
        floats = [numbers.factors] if numbers.projection is None else [numbers.factors, numbers.projection]
        arrays = [np.array(numbers.ignored, "<i4"), *(array.astype("<f4") for array in floats), numbers.table]
        return b"STATICV1" + sizes + space.encode("ascii") + b"".join(array.tobytes() for array in arrays)


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
        from keras_bert.models.encoder import config_of

        variant = config_of(task.model).variant
        assert isinstance(variant, Static)
        table = np.asarray(task.model.get_layer("token_embedding").matrix(), "float32")
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
        grid = _grid_of(task, table)
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


def _constants(numbers: StaticTable, space: str) -> str:
    tokens, columns = numbers.table.shape
    lines = [
        "/* Vectors of another space cannot be compared with those of this model. */",
        f'#define STATIC_MODEL_SPACE "{space}"',
        f"#define STATIC_MODEL_TOKENS {tokens}",
        f"#define STATIC_MODEL_COLUMNS {columns}",
        f"#define STATIC_MODEL_WIDTH {numbers.width}",
        f"#define STATIC_MODEL_ZERO ({numbers.zero})",
        f"#define STATIC_MODEL_IS_PROJECTED {int(numbers.projection is not None)}",
        f"#define STATIC_MODEL_IS_NORMALIZED {int(numbers.is_normalized)}",
        "",
        "/* (tokens, columns). */",
        _array("int8_t", "table", numbers.table),
        "/* The step of a row's integers times the weight of its token. */",
        _array("float", "factors", numbers.factors),
        "/* Ids that never count; the first one may be of no token. */",
        _array("int32_t", "ignored", np.array(numbers.ignored or (-1,))),
    ]
    if numbers.projection is not None:
        lines += ["/* (columns, width). */", _array("float", "projection", numbers.projection.astype("float32"))]
    return "\n".join(lines)


def _array(kind: str, name: str, values: Array) -> str:
    """A constant of C; floats have the nine digits that give all bits back."""
    words = [f"{value:.9g}" if kind == "float" else str(value) for value in values.ravel().tolist()]
    words = [f"{word}f" if kind == "float" and set(word) & set(".e") else word for word in words]
    lines = ("  " + ", ".join(words[start : start + _IN_A_LINE]) for start in range(0, len(words), _IN_A_LINE))
    return f"static const {kind} static_model_{name}[] = {{\n" + ",\n".join(lines) + "\n};"
