"""The export target `native`: the tokenizers and the answers in C++, with an interface in C and wrappers."""

import shutil
from pathlib import Path
from typing import Any

from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ComparisonRows, ExportInputs
from keras_bert.export.targets.base import ExportTarget, ModelTraits

HEADER = ExportedFile(
    "native/bert_edge.hpp",
    "model",
    "tokenizers and answers in C++17 for {lengths} tokens, with an interface in C and wrappers, to copy",
    takes_ids=False,
)
_HERE = Path(__file__).parent
SOURCES = tuple(
    _HERE / name
    for name in ("bert_edge.hpp", "bert_edge.h", "bert_edge.cpp", "bert_edge.rs", "BertEdge.cs", "bert_edge.dart")
)


class Native(ExportTarget):
    """Writes the sources that read the tables of a pushed folder; they are the same for every model."""

    name = "native"
    libraries = ()
    written = (HEADER,)

    def find_obstacle(self, traits: ModelTraits) -> str | None:
        """See `ExportTarget`; the sources know the tokenizers that have tables for apps."""
        return traits.copy_obstacle or None

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`."""
        folder = (source.folder / HEADER.name).parent
        folder.mkdir(parents=True)
        for path in SOURCES:
            shutil.copyfile(path, folder / path.name)

    def describe(self, source: ExportInputs, file: ExportedFile) -> dict[str, Any]:
        """See `ExportTarget`; the sources hold no numbers."""
        return {"lengths": self.lengths(source)}

    def compare(self, source: ExportInputs, file: ExportedFile, sample: ComparisonRows) -> dict[str, Any]:
        """See `ExportTarget`; the sources have no outputs."""
        folder = (source.folder / file.name).parent
        return {"bytes": sum(path.stat().st_size for path in folder.iterdir())}
