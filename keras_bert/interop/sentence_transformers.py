"""Reads and writes the pooling, the dense modules and the prompts of sentence-transformers."""

import logging
from pathlib import Path
from typing import Any, NamedTuple, get_args

from keras_bert.interop.configs import check_only, read_json, read_length, write_json
from keras_bert.options.data import VECTOR_POOLINGS, Projection, Prompts, SimilarityFunction

logger = logging.getLogger(__name__)

MODULES_FILE = "modules.json"
LENGTH_FILE = "sentence_bert_config.json"
# Its names in old versions, by the class of the model; the first that a folder has is read.
_MODELS = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
_LENGTH_FILES = tuple(f"sentence_{model}_config.json" for model in _MODELS)
SETTINGS_FILE = "config_sentence_transformers.json"
POOLING_FOLDER = "1_Pooling"

# The keys of sentence-transformers before version 6, several of which may be true.
_OLD_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}

# Our activation -> its class in PyTorch.
_ACTIVATIONS = {
    "tanh": "torch.nn.modules.activation.Tanh",
    "none": "torch.nn.modules.linear.Identity",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu_erf": "torch.nn.modules.activation.GELU",
}
# The classifier of SetFit beside its encoder.
_SETFIT_FILE = "model_head.pkl"

# Parts of the names of other modules -> what models with them are.
_OTHER_MODULES = {
    "SpladePooling": "vectors of SPLADE, one number for each token of the vocabulary, need a head of masked tokens",
    **dict.fromkeys(("MultiVector", "pylate."), "a ColBERT, with a vector for each token, is not supported"),
    **dict.fromkeys(("Router", "Asym"), "queries and documents have an encoder each; name the folder of one of them"),
    "LayerNorm": "a LayerNorm behind the pooling, as of Ettin's re-rankers, is not supported",
    "StaticEmbedding": "static embeddings have no encoder; take a checkpoint with a Transformer",
    ".": "code of another package is never run",
}

# The names under which `encode_document` of sentence-transformers looks for its prompt.
_PASSAGES = ("document", "passage", "corpus")


class PoolingSettings(NamedTuple):
    """The pooling of states into a vector, which is scaled to length 1 with `normalize`.

    `projections` are dense layers in between, each with the files of a folder of `dense_folders`. `max_length` is the
    longest text in tokens, if the files have one; `prompts` stand in front of queries and passages.
    """

    pooling: str = "mean"
    normalize: bool = True
    max_length: int | None = None
    prompts: Prompts = Prompts()
    similarity_function: SimilarityFunction = "cosine"
    projections: tuple[Projection, ...] = ()
    dense_folders: tuple[str, ...] = ()
    dimension: int | None = None


def read_length_file(folder: Path) -> dict[str, Any]:
    """How sentence-transformers calls the model and the tokenizer of a folder: the longest text and other settings.

    `tokenizer_args` and `config_args` are what it adds to the settings of both in transformers.
    """
    contents = [read_json(folder / name) for name in _LENGTH_FILES if (folder / name).is_file()]
    content = dict(next(filter(None, contents), {}))
    for key, new in (("tokenizer_args", "processor_kwargs"), ("config_args", "config_kwargs")):
        content[key] = content.get(key) or content.get(new) or {}
        if not isinstance(content[key], dict):
            raise ValueError(f"{folder / LENGTH_FILE}: {key} must be an object, got {content[key]!r}")
    return content


def transformer_folder(folder: Path) -> Path:
    """The folder of the files of the transformer: the folder itself, or one in it that `modules.json` names."""
    modules = _read_modules(folder)
    return folder / (modules[0][1] if modules and modules[0][0] == "Transformer" else "")


def makes_vectors(folder: Path) -> bool:
    """Whether modules make vectors of states; a cross-encoder has none, and SPLADE takes its head's logits."""
    return not {name for name, _ in _read_modules(folder)} <= {"Transformer", "MLMTransformer", "SpladePooling"}


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    """The classes of the modules, without the package of sentence-transformers, and the folders of their files."""
    path = folder / MODULES_FILE
    modules = read_json(path, list) if path.is_file() else []
    if not all(isinstance(module, dict) for module in modules):
        raise ValueError(f"{path} must hold an object for each module, got {modules!r}")
    paths = [str(module.get("path") or "") for module in modules]
    paths = ["" if path == "." else path for path in paths]
    if not all(Path(name).name == name for name in paths):
        raise ValueError(f"{path} must name folders beside it, got the paths {paths}")
    types = [str(module.get("type")) for module in modules]
    names = [name.rpartition(".")[2] if name.startswith("sentence_transformers.") else name for name in types]
    return list(zip(names, paths, strict=True))


def read_pooling(folder: Path) -> PoolingSettings:
    """Reads the files of sentence-transformers; the mean, of length 1, where there are none: vectors are new then."""
    if (folder / _SETFIT_FILE).is_file():
        logger.warning(
            "%s of SetFit is a pickle of scikit-learn and is not read: the folder is an embedding without its "
            "classifier; train one on its vectors, as the job that init proposes for few rows does",
            folder / _SETFIT_FILE,
        )
    modules = _read_modules(folder)
    if not (folder / MODULES_FILE).is_file():
        return PoolingSettings()
    modules = [module for module in modules if module[0] != "Dropout"]
    names, paths = [name for name, _ in modules], [path for _, path in modules]
    normalize = names[2:] != [] and names[-1] == "Normalize"
    dense = names[2 : len(names) - normalize]
    if names[:2] != ["Transformer", "Pooling"] or set(dense) - {"Dense"}:
        hint = next((f"; {hint}" for part, hint in _OTHER_MODULES.items() if part in " ".join(names)), "")
        raise ValueError(
            f"{folder / MODULES_FILE} must list a Transformer, a Pooling, perhaps Dense modules and perhaps a "
            f"Normalize, got {names}{hint}"
        )
    inner, prompts = transformer_folder(folder), read_prompts(folder)
    length = read_length(inner / LENGTH_FILE, read_length_file(inner), "max_seq_length")
    settings_file, functions = folder / SETTINGS_FILE, get_args(SimilarityFunction)
    function: Any = read_settings(folder).get("similarity_fn_name") or "cosine"
    if function not in functions:
        raise ValueError(
            f"{settings_file}: similarity_fn_name must be one of {functions}, got {function!r}, which is not supported"
        )
    return PoolingSettings(
        pooling=_read_pooling(folder / paths[1] / "config.json", prompts),
        normalize=normalize,
        max_length=length,
        prompts=prompts,
        similarity_function=function,
        projections=tuple(read_projection(folder / path / "config.json") for path in paths[2 : 2 + len(dense)]),
        dense_folders=tuple(paths[2 : 2 + len(dense)]),
        dimension=_read_dimension(folder, normalize=normalize),
    )


def _read_dimension(folder: Path, *, normalize: bool) -> int | None:
    path, content = folder / SETTINGS_FILE, read_settings(folder)
    width: Any = content.get("truncate_dim")
    if width is None:
        return None
    if type(width) is not int or width < 1:
        raise ValueError(f"{path}: truncate_dim must be a whole number above 0, got {width!r}")
    if normalize:
        check_only(path, content, {"similarity_fn_name": "cosine"})
        logger.warning("%s: vectors are cut to %d numbers (truncate_dim), and have length 1 again here", path, width)
    return width


def read_projection(path: Path) -> Projection:
    """The settings of a Dense module."""
    content = read_json(path)
    only = {
        "use_residual": False,
        "module_input_name": "sentence_embedding",
        "module_output_name": "sentence_embedding",
    }
    check_only(path, content, only)
    package, _, name = str(content.get("activation_function", _ACTIVATIONS["tanh"])).partition(".")
    name = name.rpartition(".")[2] if package == "torch" else f"{package}.{name}"
    activation: Any = {theirs.rpartition(".")[2]: ours for ours, theirs in _ACTIVATIONS.items()}.get(name)
    units, bias = content.get("out_features"), content.get("bias", True)
    if activation is None or type(units) is not int or units < 1 or not isinstance(bias, bool):
        raise ValueError(
            f"{path}: a Dense module must have a whole number of out_features, a bias that is true or false, and an "
            f"activation of {list(_ACTIVATIONS)}, got {units!r}, {bias!r} and {name!r}"
        )
    return Projection(units=units, activation=activation, use_bias=bias)


def read_settings(folder: Path) -> dict[str, Any]:
    """The content of `config_sentence_transformers.json`, with `prompts` by name and the `default_prompt`."""
    path = folder / SETTINGS_FILE
    content = read_json(path) if path.is_file() else {}
    prompts, default_name = content.get("prompts") or {}, content.get("default_prompt_name")
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ValueError(f"{path}: prompts must be texts by name, got {prompts!r}")
    if default_name is not None and default_name not in list(prompts):
        raise ValueError(f"{path}: default_prompt_name must be one of {list(prompts)}, got {default_name!r}")
    return {**content, "prompts": prompts, "default_prompt": prompts.get(default_name, "")}


def read_prompts(folder: Path) -> Prompts:
    """Reads the prompts of queries and passages; empty ones where the files have none."""
    path, content = folder / SETTINGS_FILE, read_settings(folder)
    prompts, default = content["prompts"], content["default_prompt"]
    passage: str = next((prompts[name] for name in _PASSAGES if name in prompts), default)
    query: str = prompts.get("query", default)
    if default not in (query, ""):
        raise ValueError(
            f"{path}: default_prompt_name must name the prompt of queries, {query!r}, which single texts get here, got "
            f"{content['default_prompt_name']!r}, {default!r}"
        )
    if default:
        logger.warning(
            "%s: predict(texts) adds no prompt; the default prompt %r stands in front with prompt=%r",
            *(path, default, "query"),
        )
    return Prompts(query=query, passage=passage)


def write_pooling(folder: Path, settings: PoolingSettings, hidden_size: int) -> list[str]:
    """Writes the files that `read_pooling` reads, with keys that all versions of sentence-transformers read.

    Returns the folders for the weights of dense modules, `2_Dense` and so on.
    """
    types = ["Transformer", "Pooling", *["Dense"] * len(settings.projections)]
    types += ["Normalize"] if settings.normalize else []
    paths = ["", *(f"{index}_{name}" for index, name in enumerate(types) if index)]
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (name, path) in enumerate(zip(types, paths, strict=True))
    ]
    write_json(folder / MODULES_FILE, modules)
    write_json(folder / LENGTH_FILE, {"max_seq_length": settings.max_length, "do_lower_case": False})
    if (settings.prompts, settings.similarity_function) != (Prompts(), "cosine"):
        prompts = {"query": settings.prompts.query, "document": settings.prompts.passage}
        functions = {"default_prompt_name": None, "similarity_fn_name": settings.similarity_function}
        write_json(folder / SETTINGS_FILE, {"prompts": prompts, **functions})
    (folder / POOLING_FOLDER).mkdir()
    names = settings.pooling.split("+")
    modes: dict[str, Any] = {key: mode in names for key, mode in _OLD_MODES.items()}
    if names != [mode for mode in _OLD_MODES.values() if mode in names]:
        modes = {"pooling_mode": names}  # in an order that the old keys cannot tell
    write_json(folder / POOLING_FOLDER / "config.json", {"word_embedding_dimension": hidden_size, **modes})
    width = hidden_size * len(names)
    for projection, path in zip(settings.projections, paths[2:], strict=False):
        (folder / path).mkdir()
        content = {
            "in_features": width,
            "out_features": projection.units,
            "bias": projection.use_bias,
            "activation_function": _ACTIVATIONS[projection.activation],
        }
        write_json(folder / path / "config.json", content)
        width = projection.units
    return paths[2 : 2 + len(settings.projections)]


def _read_pooling(path: Path, prompts: Prompts) -> str:
    content = read_json(path)
    modes: Any = content.get("pooling_mode", [mode for key, mode in _OLD_MODES.items() if content.get(key)] or "mean")
    names = [modes] if isinstance(modes, str) else modes
    is_list = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    if not is_list or set(names) - set(VECTOR_POOLINGS) or len(set(names)) != len(names):
        raise ValueError(f"{path}: the pooling must be of {list(VECTOR_POOLINGS)}, each once, got {names}")
    # Without the prompt's tokens the first one is a word of the text.
    if set(names) - {"lasttoken"} and prompts != Prompts() and content.get("include_prompt") is False:
        raise ValueError(
            f"{path}: include_prompt must be true where queries or passages have prompts, as a pooling without their "
            "tokens is not supported, got false"
        )
    return "+".join(names)
