"""A task whose network is compiled, for short answers without a delay."""

from pathlib import Path

from keras_bert.core.folders import TFLITE_FLOAT_FILE, temporary_folder
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.tflite import export_tflite
from keras_bert.options.export import Export
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import check_keras_model


def compile_task(task: Task, *, num_threads: int = 1) -> Task:
    """Compiles a Keras task for LiteRT, in float32: single short texts are answered in less time (docs/speed.md).

    The outputs are the same up to 1e-5. The compiled task has the weights, the adapter and the calibration of this
    moment: it does not change with the task, and it cannot be trained. It takes one row after another, and tokenizes
    without TensorFlow.

    Args:
        task: a task with a Keras model.
        num_threads: threads of one answer.

    Raises:
        ValueError: the model is an exported file.

    Examples:
        >>> compiled = compile_task(task)
        >>> texts = ["what a film", "bad"]
        >>> [answer.label for answer in compiled.predict(texts)] == [answer.label for answer in task.predict(texts)]
        True
    """
    check_keras_model(task, "compiled")
    with temporary_folder() as folder, task._answering():
        file = Path(folder) / TFLITE_FLOAT_FILE
        lengths = Export().choose_lengths(task.max_length)
        export_tflite(task.network(), file, lengths, output=task.output_name)
        attach_companions(task, file)
        # The runtime has mapped the file, which may then be removed.
        compiled = load_exported(file, num_threads=num_threads)
    compiled.calibration = task.calibration
    return compiled
