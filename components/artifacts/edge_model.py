"""Files for other runtimes."""

from components.dsl.artifact import Artifact


class EdgeModel(Artifact):
    """`model.tflite` (int8), `model_float32.tflite`, `model.onnx`, vocabulary, `labels.json`, `recipe.json`."""
