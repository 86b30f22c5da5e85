"""The table `[processors]`: the processors on which the files of a job are answered."""

from typing import Annotated, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import NonEmptyStr, PositiveShare, validated_dataclass
from keras_bert.export.targets.registry import FILES
from plugins.processors.emulators import AARCH64_FOLDER, DEFAULT_PROCESSORS, MAX_DIFFERENCE, ProcessorName

# Files in the formats of LiteRT and ONNX Runtime that take token ids, also of pairs.
NAMES = tuple(
    file.name for file in FILES if file.takes_pairs and file.takes_ids and file.name.endswith((".tflite", ".onnx"))
)


@validated_dataclass
class Processors:
    """Settings of the emulated processors that answer the exported files on test rows, before a push.

    Attributes:
        names: the processors, all different: `x86-64-v2` (SSE4.2), `haswell` (AVX2 without VNNI), `skylake-avx512`
            (AVX-512 without VNNI, which qemu 7.2 does not emulate), `cortex-a53` (no dot products of int8),
            `cortex-a76` and `neoverse-n1` (dot products of int8).
        files: the `.tflite` and `.onnx` files of the exported folder that are answered, all different, such as
            `transformers_js/onnx/model_int8.onnx`; empty for the file that `predict` uses and all int8 files.
        max_difference: the limit of the median difference, above 0 and at most 1; a file above it is not pushed. The
            difference of a row is the largest one of its outputs from those on this machine, as a share of the range of
            this output over the rows.
        aarch64: for the processors of Arm, a folder with a Python for aarch64; an error names the command that makes
            one.
    """

    names: Annotated[tuple[ProcessorName, ...], pydantic.Field(min_length=1)] = DEFAULT_PROCESSORS
    files: tuple[NonEmptyStr, ...] = ()
    max_difference: PositiveShare = MAX_DIFFERENCE
    aarch64: NonEmptyStr = AARCH64_FOLDER

    @pydantic.model_validator(mode="after")
    def _check_items(self) -> Self:
        for field in ("names", "files"):
            items = list(getattr(self, field))
            check("processors", field, len(set(items)) == len(items), "hold different items", items)
        unknown = next((name for name in self.files if name not in NAMES), None)
        check("processors", "files", unknown is None, f"hold only {', '.join(NAMES)}", unknown)
        return self
