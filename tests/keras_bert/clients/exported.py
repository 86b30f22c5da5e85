"""The folder of one of a task's files, as a push has it before there is a page."""

import json
from pathlib import Path

from keras_bert.clients.golden import write_golden
from keras_bert.export.bundle import attach_companions
from keras_bert.export.sample_texts import SECONDS, TEXTS
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
    pairs = [] if task.second_text in ("unused", "compared") else [SECONDS]
    rows = [{"text": text, "second": second} for seconds in pairs for text, second in zip(TEXTS, seconds, strict=True)]
    singles = [] if task.second_text == "required" else [{"text": text} for text in TEXTS]
    write_golden(folder, [*singles, *rows])
    return folder
