"""The files that readers take for parts of a model; those of an earlier model would be read with a later one's."""

import fnmatch
from collections.abc import Iterable

from keras_bert.core import folders
from keras_bert.core.plugins import find_plugins

# Patterns of names at the top of a model's folder.
_FILES = (
    *(folders.TASK_FILE, folders.MODEL_FILE, folders.QUANTIZATION_FILE, folders.METRICS_FILE, folders.LABELS_FILE),
    *(folders.EXPORT_FILE, folders.GOLDEN_FILE, folders.PAGE_FILE, "schema.json", "origin.json"),
    *(*folders.TOKENIZER_FILES, folders.CHARACTERS_FILE, folders.SUBWORDS_FILE),
    *(*folders.ANSWERING_FILES, folders.MEDIAPIPE_FILE, folders.TEXT_FILE),
    *(*folders.WEIGHT_FILES, "model-*-of-*.safetensors", "pytorch_model-*-of-*.bin", "tf_model.h5"),
    *("flax_model.msgpack", "adapter_config.json", "adapter_model.*", "model_head.pkl"),
    *("config.json", "modules.json", "sentence_*config.json", "config_sentence_transformers.json"),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "*.model"),
)
_FOLDERS = (
    *(*folders.SAVED_MODEL_PARTS, folders.WEB_FOLDER, folders.ACCELERATORS_FOLDER),
    *(folders.ADAPTER_FOLDER, folders.TOKENIZERS_FOLDER, "*.mlpackage", "onnx", "openvino"),
    "[0-9]_*",  # the modules of sentence-transformers, `1_Pooling`
)


def find_model_files(names: Iterable[str]) -> list[str]:
    """The names, relative to a folder, that a reader takes for parts of the model in it; sorted."""
    # An export target of a plug-in that writes a folder names it as itself.
    patterns = (*_FOLDERS, *find_plugins("export_targets"))

    def is_read(name: str) -> bool:
        first, _, rest = name.partition("/")
        return any(fnmatch.fnmatchcase(first, pattern) for pattern in (patterns if rest else _FILES))

    return sorted(filter(is_read, names))
