"""All export targets by their names in `[export] runtimes`."""

from collections.abc import Mapping

from keras_bert.core.plugins import find_plugins
from keras_bert.export.files import CORE_FILES
from keras_bert.export.targets.base import ExportTarget
from keras_bert.export.targets.litert import LiteRT, LiteRTText
from keras_bert.export.targets.mediapipe import MediaPipe
from keras_bert.export.targets.onnx import OnnxRuntime, TransformersJs
from keras_bert.export.targets.servers import TensorFlowServing

_PLUGINS: list[ExportTarget] = [entry.load()() for _, entry in sorted(find_plugins("export_targets").items())]
# In the order in which they are written.
TARGETS: Mapping[str, ExportTarget] = {
    target.name: target
    for target in (
        *(LiteRT(), OnnxRuntime(), TensorFlowServing(), MediaPipe(), LiteRTText(), TransformersJs()),
        *_PLUGINS,
    )
}
# In the order of the model card.
FILES = (*CORE_FILES, *(file for target in _PLUGINS for file in target.written))
