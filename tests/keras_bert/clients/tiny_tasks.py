"""A task of each kind with random weights and word pieces, and the folder of one of its files."""

import json
from pathlib import Path

import keras

from keras_bert.config import EncoderConfig
from keras_bert.export.tflite import export_tflite
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.base import Task
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.tokenizer import SPECIAL_TOKENS, Tokenizer

WORDS = ("small", "boat", "was", "the", "a", "is", "##n", "t", "e", "harb", "##our", "1", "##9", "##9", "london", "met")
PIECES = (*SPECIAL_TOKENS, *dict.fromkeys((*WORDS, *".,!?'-()$%:", *"東京", "cafe", "##s", "##o", "strase")))
LENGTHS = (16, 32)
SETTINGS = {
    "classification": {"labels": ["good", "bad", "neither"], "pooling": "mean"},
    "regression": {"pooling": "mean"},
    "token_classification": {"labels": ["O", "B-place", "I-place"]},
    "question_answering": {"stride": 8, "max_query_length": 8},
    "embedding": {"pooling": "mean"},
}


def make_task(kind: str) -> Task:
    keras.utils.set_random_seed(1)
    tokenizer = Tokenizer(PIECES, lowercase=True)
    config = EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size,
        max_length=LENGTHS[-1],
        num_layers=2,
        hidden_size=32,
        num_heads=2,
        intermediate_size=64,
        initializer_range=0.5,
    )
    return TASKS[kind].build(build_encoder(config, pooler=False), tokenizer, max_length=LENGTHS[-1], **SETTINGS[kind])


def export_folder(task: Task, folder: Path) -> Path:
    """`folder` as a push has it before there is a page."""
    task.save_settings(folder)
    export_tflite(task.network(), folder / "model_float32.tflite", LENGTHS, output=task.output_name)
    row = {"metrics": {"accuracy": {"mean": 0.9375}}}
    metrics = {"metric": "accuracy", "shipped": "tflite", "models": {"tflite": row}, "rows": {"test": 32}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder
