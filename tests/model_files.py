"""Files of tasks that are complete by themselves, as an export publishes them."""

from keras_bert.core.folders import SAVED_MODEL_FILE
from keras_bert.export.bundle import attach_companions
from keras_bert.export.onnx import export_onnx
from keras_bert.export.saved_model import export_saved_model
from keras_bert.export.tflite import export_tflite


def write_file(task, file, lengths):
    """The task's `.tflite` file with these lengths, or its `.onnx` file or SavedModel, which take any."""
    if file.suffix == ".onnx":
        export_onnx(task.network(), file, output=task.output_name)
    elif file.name == SAVED_MODEL_FILE:
        export_saved_model(task, file.parent)
    else:
        export_tflite(task.network(), file, lengths, output=task.output_name)
    attach_companions(task, file)
    return file
