"""The files by which sentence-transformers makes a vector of a BERT's states."""

from pathlib import Path
from typing import Any, NamedTuple

from keras_bert.interop.configs import check_only, read_json, read_length, write_json
from keras_bert.options.pooling import Pooling

MODULES_FILE = "modules.json"
LENGTH_FILE = "sentence_bert_config.json"
SETTINGS_FILE = "config_sentence_transformers.json"
POOLING_FOLDER = "1_Pooling"

_MODES: dict[str, Pooling] = {"cls": "cls", "mean": "mean"}
# The keys of versions before 6, of which several may hold.
_OLD_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


class Pooled(NamedTuple):
    """How states become a vector, and the most tokens of a text, None where the files do not say."""

    pooling: Pooling = "mean"
    normalize: bool = False
    max_length: int | None = None


def read_pooling(folder: Path) -> Pooled:
    """Reads the files of sentence-transformers; the mean, not normalized, where there are none.

    Raises:
        FileNotFoundError: the pooling's configuration is missing.
        ValueError: the files ask for what `Embedding` does not do.
    """
    if not (folder / MODULES_FILE).is_file():
        return Pooled()
    modules = read_json(folder / MODULES_FILE, list)
    # Versions differ in where a class stands, not in what it is called.
    names = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0].get("path"):
        raise ValueError(
            f"{folder / MODULES_FILE} must list a Transformer in this folder, a Pooling and perhaps a "
            f"Normalize, got {names}"
        )
    for file in (LENGTH_FILE, SETTINGS_FILE):
        if (folder / file).is_file():
            # Lowercasing here comes before the tokenizer; a prompt is put before every text.
            only = {"do_lower_case": False, "default_prompt_name": None}
            check_only(folder / file, read_json(folder / file), only)
    lengths = read_json(folder / LENGTH_FILE) if (folder / LENGTH_FILE).is_file() else {}
    length = read_length(folder / LENGTH_FILE, lengths, "max_seq_length")
    return Pooled(_pooling(folder / modules[1].get("path", "") / "config.json"), len(names) == 3, length)


def write_pooling(folder: Path, pooled: Pooled, hidden_size: int) -> None:
    """Writes what `read_pooling` reads, in the form that all versions of sentence-transformers know."""
    types = ["Transformer", "Pooling", *(["Normalize"] if pooled.normalize else [])]
    paths = ["", POOLING_FOLDER, "2_Normalize"]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (name, path) in enumerate(zip(types, paths, strict=False))
    ]
    write_json(folder / MODULES_FILE, modules)
    write_json(folder / LENGTH_FILE, {"max_seq_length": pooled.max_length, "do_lower_case": False})
    (folder / POOLING_FOLDER).mkdir()
    modes = {key: mode == pooled.pooling for key, mode in _OLD_MODES.items()}
    write_json(folder / POOLING_FOLDER / "config.json", {"word_embedding_dimension": hidden_size, **modes})


def _pooling(path: Path) -> Pooling:
    content = read_json(path)
    modes: Any = content.get("pooling_mode", [mode for key, mode in _OLD_MODES.items() if content.get(key)] or "mean")
    chosen = [modes] if isinstance(modes, str) else list(modes)
    if len(chosen) != 1 or chosen[0] not in _MODES:
        raise ValueError(f"{path}: the pooling must be one of {list(_MODES)}, got {chosen}, which is not supported")
    return _MODES[chosen[0]]
