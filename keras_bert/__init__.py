"""BERT in plain Keras: configurations, layers, tasks, training, compression and export.

The names below are the public names of the library. Each is imported at its first use: configurations and models
need no TensorFlow, and the pipeline's command line needs neither TensorFlow nor Keras.
"""

import importlib
import os
from typing import Any

_HOMES = {
    "CUSTOM_OBJECTS": "keras_bert.models.saving",
    "EncoderConfig": "keras_bert.core.config",
    "PRESETS": "keras_bert.families.presets",
    "TASKS": "keras_bert.tasks.registry",
    "Tokenizer": "keras_bert.tokenizers.tokenizer",
    "adamw": "keras_bert.models.optimizer",
    "build_encoder": "keras_bert.models.encoder",
    "Distillation": "keras_bert.options.compression",
    "Imitation": "keras_bert.options.compression",
    "Pruning": "keras_bert.options.compression",
    "Quantization": "keras_bert.options.quantization",
    "Student": "keras_bert.options.compression",
    "check_file": "keras_bert.clients.self_test",
    "compile_task": "keras_bert.export.task_export",
    "distill": "keras_bert.in_memory.compress",
    "evaluate": "keras_bert.in_memory.fit",
    "export_task": "keras_bert.export.task_export",
    "fit": "keras_bert.in_memory.fit",
    "from_hugging_face": "keras_bert.interop.hugging_face",
    "from_peft": "keras_bert.interop.peft",
    "from_tf1": "keras_bert.interop.tf1",
    "Bias": "keras_bert.options.adaptation",
    "Adapters": "keras_bert.options.adaptation",
    "Lora": "keras_bert.options.adaptation",
    "Prompt": "keras_bert.options.adaptation",
    "load_adapter": "keras_bert.tasks.registry",
    "load": "keras_bert.export.bundle",
    "preset": "keras_bert.families.presets",
    "prune": "keras_bert.in_memory.compress",
    "quantize": "keras_bert.in_memory.compress",
    "to_hugging_face": "keras_bert.interop.hugging_face",
    "to_peft": "keras_bert.interop.peft",
    "to_tf1": "keras_bert.interop.tf1",
}

# ONNX Runtime reports its use to its makers unless this is set before its import. Child processes inherit it; what the
# user has set stays.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
