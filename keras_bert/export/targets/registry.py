"""All export targets by their names in `[export] runtimes`."""

from collections.abc import Mapping

from keras_bert.export.targets.base import ExportTarget
from keras_bert.export.targets.coreml import CoreML
from keras_bert.export.targets.litert import LiteRT, LiteRTText
from keras_bert.export.targets.mediapipe import MediaPipe
from keras_bert.export.targets.onnx import OnnxRuntime, TransformersJs
from keras_bert.export.targets.servers import TensorFlowServing, Triton
from keras_bert.options.export import RuntimeName

# In the order in which they are written.
TARGETS: Mapping[RuntimeName, ExportTarget] = {
    target.name: target
    for target in (
        *(LiteRT(), OnnxRuntime(), TensorFlowServing(), Triton()),
        *(CoreML(), MediaPipe(), LiteRTText(), TransformersJs()),
    )
}
