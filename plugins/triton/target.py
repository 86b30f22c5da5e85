"""The export target `triton`."""

import shutil

from keras_bert.core.folders import ONNX_FILE
from keras_bert.export.files import ExportedFile
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.base import ExportTarget

_FOLDER = "triton"
TRITON = ExportedFile(
    name=f"{_FOLDER}/model/1/model.onnx",
    numbers="float32",
    card_line=f"float32, in a model repository for Triton Inference Server, `{_FOLDER}`",
)


class Triton(ExportTarget):
    """Exports a model repository for Triton: the `.onnx` file of `OnnxRuntime`, and how requests are batched."""

    name = "triton"
    measured_by = "onnx"
    libraries = ("keras", "tensorflow", "tf2onnx", "onnx")
    written = (TRITON,)

    def lengths(self, source: ExportInputs) -> list[int]:
        """See `ExportTarget`; the lengths that clients should pad to, and that are run when the server starts."""
        return source.options.choose_lengths(source.task.max_length)

    def write(self, source: ExportInputs) -> None:
        """See `ExportTarget`; the target `onnx`, `measured_by`, is written before."""
        from plugins.triton.configuration import write_config

        path = source.folder / TRITON.name
        path.parent.mkdir(parents=True)
        shutil.copyfile(source.folder / ONNX_FILE, path)
        write_config(source.task, path, source.folder / _FOLDER / "model" / "config.pbtxt", self.lengths(source))
