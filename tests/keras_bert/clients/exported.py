"""The folder of one of a task's files, as a push has it before there is a page."""

import json
from pathlib import Path

from keras_bert.export.bundle import attach_companions
from keras_bert.export.tflite import export_tflite
from keras_bert.tasks.base import Task
from tests.keras_bert.export.word_tasks import LENGTH

LENGTHS = (16, LENGTH)


def export_folder(task: Task, folder: Path) -> Path:
    """`folder`, filled."""
    task.save_settings(folder)
    export_tflite(task.network(), folder / "model_float32.tflite", LENGTHS, output=task.output_name)
    attach_companions(task, folder / "model_float32.tflite")
    row = {"metrics": {"accuracy": {"mean": 0.9375}}}
    metrics = {"metric": "accuracy", "shipped": "tflite", "models": {"tflite": row}, "rows": {"test": 32}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder
