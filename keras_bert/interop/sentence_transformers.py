"""Reads and writes the pooling and the prompts of sentence-transformers."""

from pathlib import Path
from typing import Any, NamedTuple, get_args

from keras_bert.interop.configs import check_only, read_json, read_length, write_json
from keras_bert.options.data import Pooling, Prompts, SimilarityFunction

MODULES_FILE = "modules.json"
LENGTH_FILE = "sentence_bert_config.json"
SETTINGS_FILE = "config_sentence_transformers.json"
POOLING_FOLDER = "1_Pooling"

_MODES: dict[str, Pooling] = {"cls": "cls", "mean": "mean"}
# The keys of sentence-transformers before version 6, several of which may be true.
_OLD_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

# The names under which `encode_document` of sentence-transformers looks for its prompt.
_PASSAGES = ("document", "passage", "corpus")


class PoolingSettings(NamedTuple):
    """The pooling of states into a vector, which is scaled to length 1 with `normalize`.

    `max_length` is the longest text in tokens, if the files have one; `prompts` stand in front of queries and passages.
    """

    pooling: Pooling = "mean"
    normalize: bool = True
    max_length: int | None = None
    prompts: Prompts = Prompts()
    similarity_function: SimilarityFunction = "cosine"


def read_pooling(folder: Path) -> PoolingSettings:
    """Reads the files of sentence-transformers; the mean, of length 1, where there are none: vectors are new then.

    Raises:
        FileNotFoundError: the configuration of the pooling is missing.
        ValueError: the files have a module or a value that is not supported.
    """
    if not (folder / MODULES_FILE).is_file():
        return PoolingSettings()
    modules = read_json(folder / MODULES_FILE, list)
    # The modules of the classes differ between versions, their names do not.
    names = [str(module.get("type")).rpartition(".")[2] for module in modules]
    if names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ValueError(
            f"{folder / MODULES_FILE} must list a Transformer in this folder, a Pooling and perhaps a "
            f"Normalize, got {names}"
        )
    if modules[0].get("path"):
        raise ValueError(
            f"{folder / MODULES_FILE} must have its Transformer in this folder, with the path '', got "
            f"{modules[0]['path']!r}: move its files up, and empty the path"
        )
    if (folder / SETTINGS_FILE).is_file():
        # One prompt in front of every text is not supported.
        check_only(folder / SETTINGS_FILE, read_json(folder / SETTINGS_FILE), {"default_prompt_name": None})
    lengths = read_json(folder / LENGTH_FILE) if (folder / LENGTH_FILE).is_file() else {}
    length = read_length(folder / LENGTH_FILE, lengths, "max_seq_length")
    prompts = read_prompts(folder)
    pooling = _read_pooling(folder / modules[1].get("path", "") / "config.json", prompts)
    return PoolingSettings(pooling, len(names) == 3, length, prompts, _read_similarity_function(folder))


def read_prompts(folder: Path) -> Prompts:
    """Reads the prompts of queries and passages; empty ones where the files have none."""
    path = folder / SETTINGS_FILE
    content = read_json(path) if path.is_file() else {}
    prompts = content.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ValueError(f"{path}: prompts must be texts by name, got {prompts!r}")
    passage = next((prompts[name] for name in _PASSAGES if prompts.get(name)), "")
    return Prompts(query=prompts.get("query", ""), passage=passage)


def write_pooling(folder: Path, settings: PoolingSettings, hidden_size: int) -> None:
    """Writes the files that `read_pooling` reads, with keys that all versions of sentence-transformers read."""
    types = ["Transformer", "Pooling", *(["Normalize"] if settings.normalize else [])]
    paths = ["", POOLING_FOLDER, "2_Normalize"]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (name, path) in enumerate(zip(types, paths, strict=False))
    ]
    write_json(folder / MODULES_FILE, modules)
    write_json(folder / LENGTH_FILE, {"max_seq_length": settings.max_length, "do_lower_case": False})
    if (settings.prompts, settings.similarity_function) != (Prompts(), "cosine"):
        prompts = {"query": settings.prompts.query, "document": settings.prompts.passage}
        content = {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": settings.similarity_function}
        write_json(folder / SETTINGS_FILE, content)
    (folder / POOLING_FOLDER).mkdir()
    modes = {key: mode == settings.pooling for key, mode in _OLD_MODES.items()}
    write_json(folder / POOLING_FOLDER / "config.json", {"word_embedding_dimension": hidden_size, **modes})


def _read_similarity_function(folder: Path) -> SimilarityFunction:
    path, functions = folder / SETTINGS_FILE, get_args(SimilarityFunction)
    name: Any = (read_json(path) if path.is_file() else {}).get("similarity_fn_name") or "cosine"
    if name not in functions:
        raise ValueError(f"{path}: similarity_fn_name must be one of {functions}, got {name!r}, which is not supported")
    return name


def _read_pooling(path: Path, prompts: Prompts) -> Pooling:
    content = read_json(path)
    modes: Any = content.get("pooling_mode", [mode for key, mode in _OLD_MODES.items() if content.get(key)] or "mean")
    names = [modes] if isinstance(modes, str) else list(modes)
    if len(names) != 1 or names[0] not in _MODES:
        raise ValueError(f"{path}: the pooling must be one of {list(_MODES)}, got {names}, which is not supported")
    if names == ["mean"] and prompts != Prompts() and content.get("include_prompt") is False:
        raise ValueError(
            f"{path}: include_prompt must be true where queries or passages have prompts, as a mean without their "
            "tokens is not supported, got false"
        )
    return _MODES[names[0]]
