"""The files that a model is exported to."""

from typing import Annotated, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.plugins import find_plugins
from keras_bert.core.validation import validated_dataclass

CORE_RUNTIMES = ("tflite", "onnx", "saved_model", "mediapipe", "transformers_js", "tflite_text")


def list_runtimes() -> list[str]:
    """The names of all export targets, those of plug-ins last."""
    return [*CORE_RUNTIMES, *sorted(find_plugins("export_targets"))]


def _check_runtime(name: str) -> str:
    if name not in CORE_RUNTIMES and name not in (names := list_runtimes()):
        raise ValueError(f"be {', '.join(map(repr, names[:-1]))} or {names[-1]!r}")
    return name


_LISTED = pydantic.Field(json_schema_extra=lambda schema: schema.update(enum=[*list_runtimes()]))
_Runtime = Annotated[str, pydantic.AfterValidator(_check_runtime), _LISTED]


@validated_dataclass
class Export:
    """Settings of the export of a model.

    Attributes:
        lengths: numbers of tokens, at least 3 and all different, of the signatures of a `.tflite` file; a text runs in
            the shortest one that holds it. The longest input of the model is added, and longer lengths are left out.
        runtimes: the runtimes to write files for, all different: `tflite` for LiteRT, `onnx` for ONNX Runtime,
            `saved_model` for TensorFlow Serving, `mediapipe` for MediaPipe Tasks, `transformers_js` for a folder for
            transformers.js and Optimum, `tflite_text` for LiteRT with the operations of tensorflow-text, a file that
            takes text; plug-ins have others.
        opset: version of ONNX' operator set, 14 to 18.
        accelerators: the accelerators that the `.tflite` file is compiled for, by the names that plug-ins give to
            chips and engines, all different. A plug-in may require that the file runs whole, with the answers of the
            processor.
        dimension: for embedding and retrieval, the width of the vectors, which are the first numbers of the model's;
            None for all.
    """

    lengths: tuple[Annotated[int, pydantic.Field(ge=3)], ...] = (32, 64, 128)
    runtimes: Annotated[tuple[_Runtime, ...], pydantic.Field(min_length=1)] = ("tflite", "onnx")
    accelerators: tuple[str, ...] = ()
    # tf2onnx 1.17 writes 14 to 18; older ones lack operations that the model needs.
    opset: Annotated[int, pydantic.Field(ge=14, le=18)] = 18
    dimension: pydantic.PositiveInt | None = None

    @pydantic.model_validator(mode="after")
    def _check_items(self) -> Self:
        for field in ("lengths", "runtimes", "accelerators"):
            items = list(getattr(self, field))
            check("Export", field, len(set(items)) == len(items), "hold different items", items)
        with_lite = not self.accelerators or "tflite" in self.runtimes
        check("Export", "runtimes", with_lite, "hold 'tflite' beside accelerators", list(self.runtimes))
        return self

    def choose_lengths(self, max_length: int) -> list[int]:
        """The lengths of signatures for a model: those below its longest input, and that one."""
        return sorted({length for length in self.lengths if length < max_length} | {max_length})
