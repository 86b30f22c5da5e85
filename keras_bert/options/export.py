"""Which files a model becomes."""

import dataclasses
from typing import Literal, get_args

from keras_bert.checks import check

RuntimeName = Literal["tflite", "onnx", "mediapipe", "transformers_js", "tflite_text"]
# Tasks that MediaPipe knows, of single texts.
MEDIAPIPE_TASKS = ("classification", "embedding")
# A runtime whose files nothing scores -> the one whose figures stand for them.
_MEASURED_BY = {"mediapipe": "tflite", "transformers_js": "onnx", "tflite_text": "tflite"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Export:
    """For which runtimes a model is written, and how.

    Attributes:
        lengths: tokens of the signatures of a `.tflite` file; a text runs in the shortest that holds it. The longest
            input of the model is added, a length above it left out.
        runtimes: `tflite` for LiteRT, `onnx` for ONNX Runtime, `mediapipe` for MediaPipe Tasks,
            `transformers_js` for transformers.js and Optimum, a folder; `tflite_text` for LiteRT with tensorflow-text's
            operations, a file that takes text.
        opset: the version of ONNX' operator set.
    """

    lengths: tuple[int, ...] = (32, 64, 128)
    runtimes: tuple[RuntimeName, ...] = ("tflite", "onnx")
    opset: int = 18

    def __post_init__(self) -> None:
        fit = len(set(self.lengths)) == len(self.lengths) and all(length >= 3 for length in self.lengths)
        check("Export", "lengths", fit, "differ and be at least 3", list(self.lengths))
        known = get_args(RuntimeName)
        fit = bool(self.runtimes) and set(self.runtimes) <= set(known)
        check(
            "Export",
            "runtimes",
            fit and len(set(self.runtimes)) == len(self.runtimes),
            f"be of {known}",
            list(self.runtimes),
        )
        for name, other in _MEASURED_BY.items():
            measured = name not in self.runtimes or other in self.runtimes
            check("Export", "runtimes", measured, f"hold {other!r} beside {name!r}", list(self.runtimes))
        # tf2onnx 1.17 writes 14 to 18; older ones lack operations that the model needs.
        check("Export", "opset", 14 <= self.opset <= 18, "be between 14 and 18", self.opset)

    def choose_lengths(self, max_length: int) -> list[int]:
        """The lengths below the longest input, and that one: no row is too long, no signature useless."""
        return sorted({length for length in self.lengths if length < max_length} | {max_length})
