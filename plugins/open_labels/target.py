"""The export target `label_table`: the table of labels for apps, with the classes that read it and change it."""

import shutil
from pathlib import Path
from typing import Any

from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits

TABLE = ExportedFile(
    "label_table/label_table.bin", "float32", "the labels, for `LabelTable.kt`, `.swift` and `.js`", takes_ids=False
)
CLIENTS = tuple(Path(__file__).with_name(name) for name in ("LabelTable.kt", "LabelTable.swift", "label_table.js"))
GOLDEN_FILE = "golden_operations.tsv"


class LabelTableFile(ExportTarget):
    """Writes the table of a model of `open_labels` as bytes, its clients, and golden operations to test them with."""

    name = "label_table"
    measured_by = "tflite"
    libraries = ("numpy",)
    written = (TABLE,)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """See `ExportTarget`."""
        has_table = traits.task in (None, "open_labels")
        return None if has_table else f"it writes the labels of the task 'open_labels', and the task is {traits.task}"

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        from plugins.open_labels.golden import golden_operations
        from plugins.open_labels.task import OpenLabels

        self.check(source.task, source.recipe)
        assert isinstance(source.task, OpenLabels)
        path = source.folder / TABLE.name
        path.parent.mkdir(parents=True)
        path.write_bytes(source.task.table.as_bytes())
        lines = golden_operations(source.task.table)
        (path.parent / GOLDEN_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for client in CLIENTS:
            shutil.copyfile(client, path.with_name(client.name))

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; the number of labels and the bytes of the table."""
        from plugins.open_labels.label_table import LabelTable

        content = (source.folder / file.name).read_bytes()
        return {"labels": len(LabelTable.from_bytes(content).labels), "bytes": len(content)}
