"""Files for other runtimes."""

from components.dsl.artifact import Artifact


class EdgeModel(Artifact):
    """Files for runtimes, `task.json`, the tokenizer's files, `golden.json` and `recipe.json`.

    Which of `model.tflite` (rounded), `model_float32.tflite`, the folder `transformers_js` and others there are is a
    setting; `labels.json` is there where the task has labels.
    """
