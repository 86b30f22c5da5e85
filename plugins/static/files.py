"""Static models of sentence-transformers (`StaticEmbedding`) and of model2vec, read and written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from keras_bert.core.folders import staged_files
from keras_bert.interop.configs import read_json, write_json
from keras_bert.interop.safetensors_files import open_file, save_tensors
from keras_bert.interop.sentence_transformers import MODULES_FILE, SETTINGS_FILE, read_prompts, read_settings
from keras_bert.interop.tokenizer_json import SPECIAL_FLAGS, build_post_processor, write_tokenizer
from keras_bert.layers.dense import Dense
from keras_bert.models.encoder import config_of
from keras_bert.options.data import NAMED_TOKENS, TOKEN_KEYS
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.subwords import SubwordTokenizer
from plugins.static.models import build_static, is_linear, token_vectors
from plugins.static.settings import Static

TENSORS_FILE, TOKENIZER_FILE, CONFIG_FILE = "model.safetensors", "tokenizer.json", "config.json"
Format = Literal["sentence_transformers", "model2vec"]

# The special tokens that a tokenizer of this library has; a tokenizer without one gets it.
_SPECIAL = {"[PAD]": "<pad>", "[UNK]": "<unk>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}


def read_static(folder: str | Path, *, max_length: int = 512) -> Embedding:
    """Reads a folder of sentence-transformers with a `StaticEmbedding`, or one of model2vec.

    Vectors equal those of the libraries. Of model2vec's files, token weights and the mapping of a quantized vocabulary
    are read, and unknown tokens are left out of means, as the library does; model2vec also cuts texts by characters
    before it finds 512 tokens, which is not done here.

    Args:
        folder: the folder.
        max_length: the most tokens of a text, with two special tokens around it that are not counted in vectors.

    Raises:
        ValueError: the files hold no static model.
        FileNotFoundError: a file is missing.
    """
    folder = Path(folder)
    modules = read_json(folder / MODULES_FILE, list) if (folder / MODULES_FILE).is_file() else []
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    inner = folder / str(modules[0].get("path") or "") if modules else folder
    config = read_json(inner / CONFIG_FILE) if (inner / CONFIG_FILE).is_file() else {}
    is_model2vec = config.get("model_type") == "model2vec"
    if kinds not in (["StaticEmbedding"], ["StaticEmbedding", "Normalize"]) and not (not kinds and is_model2vec):
        raise ValueError(
            f"{folder} must hold a StaticEmbedding, perhaps with a Normalize, or model2vec's files, got {kinds}"
        )
    if not (inner / TENSORS_FILE).is_file():
        raise FileNotFoundError(f"{inner} has no {TENSORS_FILE}")
    tensors = open_file(inner / TENSORS_FILE)
    arrays = {name: np.asarray(tensors[name]) for name in tensors}
    table = arrays.get("embedding.weight", arrays.get("embeddings"))
    if table is None or table.ndim != 2:
        raise ValueError(
            f"{inner / TENSORS_FILE} must hold a matrix embedding.weight or embeddings, got {sorted(arrays)}"
        )
    if "mapping" in arrays:
        table = table[arrays["mapping"].astype("int64")]
    tokenizer, unknown = _complete_tokenizer(read_json(inner / TOKENIZER_FILE))
    added = tokenizer.vocabulary_size - len(table)
    if added < 0:
        raise ValueError(f"{inner} must have a vector for each of {tokenizer.vocabulary_size} tokens, got {len(table)}")
    table = np.pad(table.astype("float32"), ((0, added), (0, 0)))
    weights = np.ones(len(table) - added) if "weights" not in arrays else arrays["weights"]
    weights = np.pad(weights.astype("float32").reshape(-1), (0, len(table) - len(weights.reshape(-1))))
    around = {tokenizer.cls_id, tokenizer.sep_id, *range(len(table) - added, len(table))}
    ignored = around | ({unknown} if is_model2vec and unknown is not None else set())
    function: Any = read_settings(folder).get("similarity_fn_name") or "cosine"
    return build_static(
        table,
        tokenizer,
        weights=weights,
        ignored=sorted(ignored),
        max_length=max_length,
        normalize="Normalize" in kinds or bool(config.get("normalize", False)),
        similarity_function=function,
        prompts=vars(read_prompts(folder)),
    )


def _complete_tokenizer(content: Mapping[str, Any]) -> tuple[SubwordTokenizer, int | None]:
    """A tokenizer with all special tokens around a text; also the id of its own unknown token, if it has one."""
    model = dict(content["model"])
    is_list = isinstance(model["vocab"], list)
    names = [entry[0] for entry in model["vocab"]] if is_list else sorted(model["vocab"], key=model["vocab"].get)
    ids = {name: number for number, name in enumerate(names)}
    ids |= {token["content"]: token["id"] for token in content.get("added_tokens") or ()}
    unknown = names[model["unk_id"]] if model.get("unk_id") is not None else model.get("unk_token")
    added = list(content.get("added_tokens") or ())
    special = dict[str, str]()
    for name, other in _SPECIAL.items():
        names_of_it = [name, other, *([unknown] if name == "[UNK]" and unknown else [])]
        special[name] = next((token for token in names_of_it if token in ids), name)
        if special[name] not in ids:
            ids[name] = len(ids)
            added.append({"id": ids[name], "content": name, **SPECIAL_FLAGS})
    complete = {
        **content,
        "added_tokens": sorted(added, key=lambda token: token["id"]),
        "post_processor": build_post_processor(special["[CLS]"], special["[SEP]"], ids),
        NAMED_TOKENS: dict(zip(TOKEN_KEYS, special.values(), strict=True)),
    }
    return SubwordTokenizer(complete), ids.get(unknown) if unknown else None


def write_static(task: Embedding, folder: str | Path, form: Format = "sentence_transformers") -> None:
    """Writes a static model for sentence-transformers or for model2vec.

    A dense layer behind the mean becomes part of the token vectors. sentence-transformers has no token weights, so that
    they become part of the vectors, too.

    Raises:
        ValueError: the model is not static, has another pooling than the mean, or a layer that is not linear.
    """
    variant, head = config_of(task.model).variant, task.head()
    dense = head.get("projections", [])
    if not isinstance(variant, Static) or not is_linear(task):
        raise ValueError(
            f"write_static needs a static model with a mean and linear layers, got {task.model.name} {head}"
        )
    table = token_vectors(task)
    weights = np.array(task.model.get_layer("block_0").token_weights)
    layers: list[Dense] = task.model.get_layer("projections").dense if dense else []
    for layer in layers:
        table = table @ np.asarray(layer.kernel)
    table = np.array(table[:, : head.get("dimension")])
    # Means of neither library leave these tokens out.
    table[list(variant.ignored)] = 0
    tokenizer = task.tokenizer
    content = tokenizer.definition()
    if "model" not in content:
        content = write_tokenizer(tokenizer.vocabulary, lowercase=content["lowercase"])
    content = {name: value for name, value in content.items() if name != NAMED_TOKENS}
    is_model2vec = form == "model2vec"
    path = "" if is_model2vec else "0_StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": path, "type": "sentence_transformers.models.StaticEmbedding"}]
    if task.normalize:
        modules.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"})
    prompts = {name: prompt for name, prompt in vars(task.prompts).items() if prompt}
    with staged_files(Path(folder)) as staging:
        (staging / path).mkdir(exist_ok=True)
        write_json(staging / MODULES_FILE, modules)
        settings = {"prompts": prompts, "similarity_fn_name": task.similarity_function}
        write_json(staging / SETTINGS_FILE, settings)
        write_json(staging / path / TOKENIZER_FILE, content)
        if is_model2vec:
            save_tensors({"embeddings": table, "weights": weights}, staging / TENSORS_FILE)
            config = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": table.shape[1]}
            write_json(staging / CONFIG_FILE, {**config, "normalize": task.normalize, "seq_length": 1_000_000})
        else:
            save_tensors({"embedding.weight": table * weights[:, None]}, staging / path / TENSORS_FILE)
