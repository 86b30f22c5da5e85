"""The export targets `static_c` and `static_table`: static models for programs without an interpreter."""

import abc
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits

if TYPE_CHECKING:
    from plugins.static.table import StaticTable

HEADER = ExportedFile(
    "static_c/static_model.h", "model", "int8 token vectors in a header of C, which needs no runtime", takes_ids=False
)
TABLE = ExportedFile(
    "static_table/static_model.bin", "model", "int8 token vectors for `StaticModel.kt` and `.swift`", takes_ids=False
)
_HERE = Path(__file__).parent
CLIENTS = (_HERE / "StaticModel.kt", _HERE / "StaticModel.swift")


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
        from plugins.static.models import is_linear
        from plugins.static.table import StaticTable

        self.check(source.task, source.recipe)
        assert isinstance(source.task, Embedding)
        if not is_linear(source.task):
            rule = "its file has means and matrices, and no other pooling, activation or bias"
            raise ValueError(f"{self.name} cannot take this model: {rule}, got {source.task.head()}")
        path = source.folder / self.written[0].name
        path.parent.mkdir(parents=True)
        path.write_bytes(self.content(StaticTable.of(source.task), source.task.space))

    @abc.abstractmethod
    def content(self, numbers: "StaticTable", space: str) -> bytes:
        """The content of the file; `space` is the identifier of the space of the vectors."""

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; the least cosine of the vectors of the file and of the float model."""
        from plugins.static.table import StaticTable

        least = StaticTable.of(source.task).least_cosine(source.task, sample.features)
        return {"least_cosine": round(least, 6), "bytes": (source.folder / file.name).stat().st_size}


class StaticC(StaticTarget):
    """Writes a static model as a header of C: a table of int8, a factor a token, and a dense layer if there is one."""

    name = "static_c"
    written = (HEADER,)

    def content(self, numbers: "StaticTable", space: str) -> bytes:
        """The code of `static_model.h` with the numbers as constants."""
        code = (_HERE / "static_model.h").read_text(encoding="utf-8")
        return code.replace("@CONSTANTS@", numbers.as_constants(space)).encode()


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
        """See `StaticTable.as_bytes`."""
        return numbers.as_bytes(space)
