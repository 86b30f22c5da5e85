"""The capability `processors`: exported files are answered on emulated processors before a push."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Handle
from components.dsl.errors import InputError
from keras_bert.core.folders import TFLITE_FILE, TFLITE_FLOAT_FILE, WEB_INT8_FILE, WEB_STATIC_FILE
from keras_bert.options.quantization import RECIPES
from pipeline.capability import Capability
from pipeline.settings.schema import Settings
from plugins.processors.emulators import check_processor
from plugins.processors.measure_processors import measure_processors
from plugins.processors.settings import Processors

_RUNTIMES = ("tflite", "onnx", "transformers_js")


class ProcessorsCapability(Capability[Processors]):
    """Files are answered on emulated processors."""

    name = "processors"
    table = Processors
    purpose = (
        "emulated processors that answer the exported files on `evaluation.accelerator_rows` test rows: a file whose "
        "answers are others there is not pushed."
    )
    paths = ("aarch64",)

    def check_tables(self, table: Processors, settings: Settings) -> None:
        """Raises InputError if there are no rows or no files."""
        if not settings.evaluation.accelerator_rows:
            raise InputError("evaluation.accelerator_rows must be above 0 with [processors], which answer them, got 0")
        if not set(_RUNTIMES) & set(settings.export.runtimes):
            names, got = ", ".join(_RUNTIMES[:-1]), list(settings.export.runtimes)
            raise InputError(f"export.runtimes must hold {names} or {_RUNTIMES[-1]} with [processors], got {got}")
        for name in table.files:
            # A file lies in the folder of its runtime, or ends in the name of it.
            runtime = name.partition("/")[0] if "/" in name else name.rpartition(".")[2]
            if runtime not in settings.export.runtimes:
                raise InputError(
                    f"processors.files must be files that the job exports, got {name!r}; add {runtime!r} to "
                    "export.runtimes, or leave the file out"
                )
            if name == TFLITE_FILE and settings.quantization is None:
                raise InputError(
                    f"processors.files must be files that the job exports, got {name!r}; add [quantization], or name "
                    f"{TFLITE_FLOAT_FILE}"
                )
            has_ranges = settings.quantization is not None and RECIPES[settings.quantization.recipe].has_int8_ranges
            if name == WEB_STATIC_FILE and not has_ranges:
                raise InputError(
                    f"processors.files must be files that the job exports, got {name!r}, which a model with ranges of "
                    f"int8 alone has; add [quantization] with an int8 recipe, or name {WEB_INT8_FILE}"
                )

    def check_rows(self, table: Processors, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        """Raises InputError if this machine cannot emulate a processor."""
        for name in table.names:
            check_processor(name, table.aarch64)

    def add_rows(
        self,
        table: Processors,
        settings: Settings,
        rows: Handle[TaskExamples],
        teachers: Sequence[Handle[Model]],
        students: Sequence[Handle[Model]],
        edges: Sequence[Handle[EdgeModel]],
    ) -> list[Handle[FurtherModels]]:
        """A row for each file and processor."""
        if not edges:
            return []
        node = measure_processors(
            examples=rows,
            teachers=[*teachers],
            students=[*students],
            edges=[*edges],
            processors=table.names,
            files=table.files,
            rows=settings.evaluation.accelerator_rows,
            metric=settings.evaluation.metric,
            max_export_loss=settings.evaluation.max_export_loss,
            max_difference=table.max_difference,
            aarch64=table.aarch64,
        )
        return [node.output(FurtherModels)]
