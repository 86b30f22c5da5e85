"""Files for other runtimes."""

from components.dsl.artifact import Artifact


class EdgeModel(Artifact):
    """`model.tflite` (int8), `model_float32.tflite`, `model.onnx`, `task.json`, the tokenizer's files, `recipe.json`.

    Which of the first three there are is a setting, as are `model_mediapipe.tflite` and the folder `transformers_js`;
    `labels.json` is there where the task has labels.
    """
