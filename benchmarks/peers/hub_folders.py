"""transformers' side of `benchmarks.checkpoints`: for an interpreter with sentence-transformers and sentencepiece.

PYTHON -m benchmarks.peers.hub_folders FOLDER PATTERN

Writes a folder for each shape of `benchmarks.harness.hub_shapes` whose name matches, and `answers.npz` beside its
files: token ids of texts and pairs, and what transformers or sentence-transformers read from the folder makes of them.
A file `refused.txt` says why they do not read it.
"""

import contextlib
import json
import logging
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sentence_transformers
import sentencepiece  # type: ignore[import-not-found,unused-ignore]
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from benchmarks.harness.hub_shapes import PAIRS, TEXTS, HubShape, read_shapes

POSITIONS, ROWS_OF_TEXT = 64, 8
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
# What of a family's smallest model differs from BERT's.
OF_FAMILY: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
    "electra": {"embedding_size": 12},
    "albert": {"embedding_size": 12, "hidden_act": "gelu_new"},
    "mobilebert": {"embedding_size": 6, "intermediate_size": 8, "intra_bottleneck_size": 8},
    "longformer": {"attention_window": [64, 64]},
    "big_bird": {"attention_type": "block_sparse", "block_size": 16},
    "deberta-v2": {
        "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "type_vocab_size": 0,
        "pos_att_type": ["p2c", "c2p"], "relative_attention": True, "position_biased_input": False,
    },
    "deberta": {
        "pos_att_type": ["c2p", "p2c"], "relative_attention": True, "position_biased_input": False, "type_vocab_size": 0
    },
    "modernbert": {"local_attention": 16},
    "nomic_bert": {"head_dim": 8},
    "eurobert": {"num_key_value_heads": 2, "head_dim": 8},
    "gemma3_text": {
        "num_key_value_heads": 1, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 6,
        "layer_types": ["sliding_attention", "full_attention"], "use_bidirectional_attention": True,
    },
}  # fmt: skip
# Tokenizers of word pieces: the class, and its special tokens by their ids.
WORD_PIECES = {
    "lower": ("BertTokenizer", "[PAD] [UNK] [CLS] [SEP] [MASK]"),
    "cased": ("BertTokenizer", "[PAD] [UNK] [CLS] [SEP] [MASK]"),
    "klue": ("BertTokenizer", "[CLS] [PAD] [SEP] [UNK] [MASK]"),
    "mpnet": ("MPNetTokenizer", "<s> <pad> </s> [UNK] <mask>"),
}
WEIGHTS = "model.safetensors"
ROBERTA, BERT = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Byte-level BPE, with its special tokens, and unigrams: the class.
BYTES = {"bpe": ("RobertaTokenizer", ROBERTA), "deberta1": ("DebertaTokenizer", BERT)}
UNIGRAMS = {
    "xlmr": "XLMRobertaTokenizer",
    "camembert": "CamembertTokenizer",
    "albert": "AlbertTokenizer",
    "deberta": "DebertaV2Tokenizer",
    "bigbird": "BigBirdTokenizer",
}


def make_tokenizer(kind: str, folder: Path) -> Any:
    """A small tokenizer of a kind; files of its slow form are written, too."""
    if kind in WORD_PIECES:
        name, words_of_rows = WORD_PIECES[kind]
        characters = sorted({*"".join(TEXTS), *"".join(TEXTS).lower()} - {*" \t\n"})
        words = [word for text in TEXTS for word in re.findall(r"\w+", text)[::2]]
        entries = [
            *words_of_rows.split(),
            *characters,
            *(f"##{one}" for one in characters),
            *words,
            *map(str.lower, words),
        ]
        vocabulary = {token: number for number, token in enumerate(dict.fromkeys(entries))}
        (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in vocabulary), encoding="utf-8")
        special_tokens = dict(zip(("pad", "unk", "cls", "sep", "mask"), BERT, strict=True)) if name[0] == "B" else {}
        tokens = {f"{key}_token": token for key, token in special_tokens.items()}
        return getattr(transformers, name)(vocab=vocabulary, do_lower_case=kind != "cased", **tokens)
    if kind in BYTES:
        name, special = BYTES[kind]
        model = tokenizers.ByteLevelBPETokenizer()
        model.train_from_iterator(TEXTS, vocab_size=330, show_progress=False, special_tokens=special)
        model.save_model(str(folder))
        merges = [tuple(line.split()) for line in (folder / "merges.txt").read_text().splitlines()[1:]]
        return getattr(transformers, name)(vocab=json.loads((folder / "vocab.json").read_text()), merges=merges)
    if kind in ("modern", "gemma"):
        return make_generic(kind)
    return getattr(transformers, UNIGRAMS[kind]).from_pretrained(train_pieces(kind, folder))


def train_pieces(kind: str, folder: Path) -> Path:
    """The folder with a sentencepiece model under the name that the class looks for."""
    file = {"xlmr": "sentencepiece.bpe", "camembert": "sentencepiece.bpe", "deberta": "spm"}.get(kind, "spiece")
    first = {"pad_piece": "<pad>", "pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1}
    if kind in ("xlmr", "camembert"):
        first = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
    elif kind == "deberta":
        first = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
        first |= {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
    elif kind == "bigbird":
        first = {"pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3}
    further = {"albert": ["[CLS]", "[SEP]", "[MASK]"], "bigbird": ["[CLS]", "[SEP]", "[MASK]"]}.get(kind, [])
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 4), model_prefix=str(folder / file), vocab_size=300, hard_vocab_limit=False,
        control_symbols=further, minloglevel=2, **first,
    )  # fmt: skip
    (folder / f"{file}.vocab").unlink()
    return folder


def make_generic(kind: str) -> Any:
    """ModernBERT's byte-level BPE, and Gemma's BPE of pieces with bytes for unknown characters."""
    special = BERT if kind == "modern" else ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    made = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=kind == "gemma", unk_token=None))
    trainer: dict[str, Any] = {"vocab_size": 700, "special_tokens": special, "show_progress": False}
    if kind == "modern":
        made.normalizer = tokenizers.normalizers.NFC()
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer["initial_alphabet"] = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    else:
        made.model.unk_token = "<unk>"
        made.normalizer = tokenizers.normalizers.Replace(" ", "▁")
        made.pre_tokenizer = tokenizers.pre_tokenizers.Split(" ", "merged_with_previous")
        trainer["special_tokens"] = [*special, *(f"<0x{number:02X}>" for number in range(256))]
    made.train_from_iterator(TEXTS, tokenizers.trainers.BpeTrainer(**trainer))
    first, last = ("[CLS]", "[SEP]") if kind == "modern" else ("<bos>", "<eos>")
    ids = [(token, made.token_to_id(token)) for token in (first, last)]
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B {last}", special_tokens=ids
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), BERT, strict=True))
    if kind == "gemma":
        names = {"pad": "<pad>", "unk": "<unk>", "cls": "<bos>", "sep": "<eos>", "mask": "<mask>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_input_names=["input_ids", "attention_mask"],
        **{f"{key}_token": token for key, token in names.items()},
    )  # fmt: skip


def build(shape: HubShape, folder: Path) -> None:
    """Writes the files of a shape."""
    folder.mkdir(parents=True)
    inner = folder / "0_Transformer" if "subfolder" in shape.words else folder
    inner.mkdir(exist_ok=True)
    tokenizer = make_tokenizer(shape.tokenizer, inner)
    tokenizer.model_max_length = POSITIONS
    slow = sorted(file.name for file in inner.iterdir())
    if "add" in shape.values:
        tokenizer.add_tokens([f"film{number}x" for number in range(shape.values["add"])])
    if "special" in shape.values:
        tokenizer.add_special_tokens({"extra_special_tokens": [f"[Q{n}]" for n in range(shape.values["special"])]})
    config_class = CONFIG_MAPPING[shape.model_type]
    rows = len(tokenizer) + shape.values.get("rows", 0)
    first = shape.tokenizer in ("bpe", "xlmr", "camembert") or shape.model_type in ("roberta", "mpnet")
    offset = tokenizer.pad_token_id + 1 if first else 0
    settings = {
        **SIZES,
        **OF_FAMILY.get(shape.model_type, {}),
        "vocab_size": rows,
        "pad_token_id": tokenizer.pad_token_id,
    }
    settings |= {"max_position_embeddings": POSITIONS + offset, "type_vocab_size": 1 if first else 2}
    settings |= {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    settings |= {"sep_token_id": tokenizer.sep_token_id, "cls_token_id": tokenizer.cls_token_id}
    if "labels" in shape.values:
        settings["num_labels"] = shape.values["labels"]
    settings = {**settings, **OF_FAMILY.get(shape.model_type, {}), **shape.keys["c"]}
    config = config_class(**settings)
    title = config_class.__name__.removesuffix("Config")
    torch.manual_seed(sum(map(ord, shape.name)))
    model = getattr(transformers, title + shape.head)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.mean().round() + 0.2 * torch.randn_like(parameter))
        model.tie_weights()
    saved = model.base_model if "bare" in shape.words else model
    saved.save_pretrained(inner)
    tokenizer.save_pretrained(inner)
    change_files(shape, inner, title, slow)
    write_modules(shape, folder)


def change_files(shape: HubShape, folder: Path, title: str, slow: list[str]) -> None:
    """Makes of what transformers 5 wrote what the hub has."""
    content = json.loads((folder / "config.json").read_text())
    content["architectures"] = [shape.values.get("class", title + shape.head)]
    content["problem_type"] = shape.values.get("problem")
    if "no_class" in shape.words:
        del content["architectures"]
    if shape.keys["f"].get("position_embedding_type") is None and shape.model_type in ("bert", "roberta", "electra"):
        content["position_embedding_type"] = "absolute"
    content |= {"gradient_checkpointing": False, "use_cache": True, "transformers_version": "4.28.1"}
    content |= {"torch_dtype": "float32"} if "dtype" in content else {}
    content.pop("dtype", None)
    activation = {"identity": "torch.nn.modules.linear.Identity", "sigmoid": "torch.nn.modules.activation.Sigmoid"}
    if "ce" in shape.values and "six" not in shape.words:
        name = activation[shape.values["ce"]]
        is_new = shape.values["ce"] == "sigmoid"
        content |= (
            {"sentence_transformers": {"activation_fn": name, "version": "4.1.0"}}
            if is_new
            else {"sbert_ce_default_activation_function": name}
        )
    if "bilou" in shape.words:
        labels = ("B-AGE", "I-AGE", "L-AGE", "U-AGE", "O")
        content |= {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
    write(folder / "config.json", edited(content, shape.keys["f"]))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("backend", None)
    settings["tokenizer_class"] += (
        "Fast" if "Fast" not in settings["tokenizer_class"] and "slow" not in shape.words else ""
    )
    if shape.tokenizer in ("lower", "cased") and "do_lower_case" not in shape.keys["t"]:
        settings |= {"do_lower_case": shape.tokenizer == "lower", "do_basic_tokenize": True, "never_split": None}
        settings |= {"strip_accents": None, "tokenize_chinese_chars": True, "tokenizer_class": "BertTokenizer"}
    write(folder / "tokenizer_config.json", edited(settings, shape.keys["t"]))
    change_tokenizer(shape, folder)
    if {"slow", "vocabulary"} & shape.words:
        (folder / "tokenizer.json").unlink()
    else:
        for name in slow if shape.tokenizer not in WORD_PIECES or "add" in shape.values else ():
            (folder / name).unlink()
    if "vocabulary" in shape.words:
        (folder / "tokenizer_config.json").unlink()
    if shape.keys["t"].get("tokenizer_class") in ("PhobertTokenizer", "BertweetTokenizer"):
        merges = (folder / "merges.txt").read_text().splitlines()[1:]
        (folder / "bpe.codes").write_text("".join(f"{merge} 1\n" for merge in merges))
        (folder / "vocab.txt").write_text("".join(f"{merge.replace(' ', '')} 1\n" for merge in merges))
        for name in ("vocab.json", "merges.txt"):
            (folder / name).unlink()
    if "fp16" in shape.words:
        half = {name: tensor.half().float() for name, tensor in load_file(folder / WEIGHTS).items()}
        save_file(half, folder / WEIGHTS, metadata={"format": "pt"})


def change_tokenizer(shape: HubShape, folder: Path) -> None:
    """Changes parts of `tokenizer.json`, and who reads it."""
    content = json.loads((folder / "tokenizer.json").read_text())
    for key, value in shape.keys["j"].items():
        (content if key in content else content["model"])[key] = value
    if "twice" in shape.words:
        content["model"]["vocab"] = [[token.removesuffix("NOTUSED") if token == "<unk>NOTUSED" else token, score]
                                     for token, score in content["model"]["vocab"]]  # fmt: skip
    write(folder / "tokenizer.json", content)
    if "generic" in shape.words:
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        names = ["input_ids", "token_type_ids", "attention_mask"]
        settings |= {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": names}
        write(folder / "tokenizer_config.json", settings)


def change_weights(shape: HubShape, folder: Path) -> None:
    """Stores the weights as the hub has them, also where transformers itself does not find them."""
    prefix = shape.values.get("prefix", "")
    tensors = {f"{prefix}{name}": tensor for name, tensor in load_file(folder / WEIGHTS).items()}
    if "bin" in shape.words:
        torch.save(tensors, folder / "pytorch_model.bin")
    elif "fp16" in shape.words:
        save_file({name: tensor.half() for name, tensor in tensors.items()}, folder / "model.fp16.safetensors")
    elif "prefix" in shape.values:
        save_file(tensors, folder / WEIGHTS)
        return
    else:
        return
    (folder / WEIGHTS).unlink()


def write_modules(shape: HubShape, folder: Path) -> None:
    """Writes the files of sentence-transformers, of version 2 or 6."""
    modes = next((word.split("+") for word in sorted(shape.words) if word.split("+")[0] in MODES), None)
    six = "six" in shape.words
    activation = {"identity": "torch.nn.modules.linear.Identity", "sigmoid": "torch.nn.modules.activation.Sigmoid"}
    if "ce" in shape.values and six:
        cross_encoder = {"model_type": "CrossEncoder", "activation_fn": activation[shape.values["ce"]]}
        write(folder / "config_sentence_transformers.json", cross_encoder)
    if "splade" in shape.words:
        modes = ["max"]
    if modes is None:
        return
    names = ["Transformer", "SpladePooling" if "splade" in shape.words else "Pooling"]
    further = (("Dropout", "dropout"), ("Dense", "dense"), ("Normalize", "norm"))
    names += [name for name, word in further if word in shape.words]
    places = {"Transformer": "base", "Dense": "base"} if six else {}
    modules: list[dict[str, Any]] = [
        {
            "idx": index, "name": str(index),
            "path": ("0_Transformer" if "subfolder" in shape.words else "") if index == 0 else f"{index}_{name}",
            "type": f"sentence_transformers.{places.get(name, 'sentence_transformer')}.modules.{name.lower()}.{name}"
            if six else f"sentence_transformers.models.{name}",
        }
        for index, name in enumerate(names)
    ]  # fmt: skip
    if "splade" in shape.words:
        modules[0]["type"] = "sentence_transformers.sparse_encoder.models.MLMTransformer"
        modules[1]["type"] = "sentence_transformers.sparse_encoder.models.SpladePooling"
    write(folder / "modules.json", modules)
    inner = folder / modules[0]["path"]
    length = {"max_seq_length": shape.values.get("length"), "do_lower_case": "lower" in shape.words, **shape.keys["l"]}
    write(inner / f"sentence_{shape.values.get('kin', 'bert')}_config.json", length)
    prompts = {"query": "query: ", "passage": "passage: "} if "prompts" in shape.words else {}
    settings: dict[str, Any] = {"prompts": prompts}
    settings |= {"default_prompt_name": "query" if "default_prompt" in shape.words else None}
    if prompts or six or shape.keys["s"]:
        content = {**settings, "similarity_fn_name": "cosine", **shape.keys["s"]}
        write(folder / "config_sentence_transformers.json", content)
    for name in names[1:]:
        (folder / f"{names.index(name)}_{name}").mkdir()
    if "dropout" in shape.words:
        write(folder / "2_Dropout" / "config.json", {"dropout": 0.2})
    width = SIZES["hidden_size"]
    pooling: dict[str, Any] = {"embedding_dimension": width, "pooling_mode": modes if len(modes) > 1 else modes[0]}
    if not six:
        pooling = {"word_embedding_dimension": width, **{key: mode in modes for mode, key in MODES.items()}}
    write(folder / f"1_{names[1]}" / "config.json", pooling)
    if "dense" in shape.words:
        dense = {
            "in_features": width,
            "out_features": 12,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }
        write(folder / "2_Dense" / "config.json", dense)
        layer = {"linear.weight": torch.randn(12, width), "linear.bias": torch.randn(12)}
        save_file(layer, folder / "2_Dense" / "model.safetensors")


MODES = {
    "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens", "mean": "pooling_mode_mean_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
}  # fmt: skip


def edited(content: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """The content of a file with changed keys; those that are None go away."""
    dropped = {key for key, value in changes.items() if value is None}
    return {key: value for key, value in {**content, **changes}.items() if key not in dropped}


def write(path: Path, content: Any) -> None:
    """Writes JSON."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def answer(shape: HubShape, folder: Path) -> dict[str, Any]:
    """What transformers or sentence-transformers make of the texts and the pairs."""
    answers: dict[str, Any] = {}
    if (folder / "modules.json").is_file() and "splade" not in shape.words:
        model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        answers["vectors"] = model.encode(TEXTS, show_progress_bar=False)
        # `encode` puts the default prompt in front; `predict` has to be asked for it.
        answers["prompted"] = model.default_prompt_name is not None
        for index, text in enumerate(TEXTS):
            ids = model.tokenizer([text], truncation=True, max_length=model.max_seq_length)["input_ids"]
            answers[f"ids_{index}"] = np.array(ids[0])
        return answers
    if "ce" in shape.values and "six" in shape.words:
        model = sentence_transformers.CrossEncoder(str(folder), device="cpu")
        answers["scores"] = model.predict(PAIRS, show_progress_bar=False)
    inner = folder / "0_Transformer" if "subfolder" in shape.words else folder
    is_named = "model_type" not in shape.keys["f"]
    kind = transformers.AutoTokenizer if is_named else transformers.BertTokenizer
    tokenizer = kind.from_pretrained(inner)
    title = CONFIG_MAPPING[shape.model_type].__name__.removesuffix("Config")
    # Of a head that this library has not, the encoder counts.
    is_known = shape.head != "ForMultipleChoice" and "untied" not in shape.words
    model = getattr(transformers, title + shape.head if is_known else "AutoModel").from_pretrained(inner).eval()
    answers["class"] = np.array(type(model).__name__)
    # Tokenizers of ALBERT in version 5, and of BigBird, leave out the segments of pairs that their templates name.
    segments = {"return_token_type_ids": True} if shape.model_type in ("albert", "big_bird") else {}
    rows: tuple[Any, ...] = (*TEXTS, *PAIRS)
    for index, text in enumerate(rows):
        if shape.head == "ForQuestionAnswering" and isinstance(text, str):
            continue
        sides: tuple[str, ...] = (text,) if isinstance(text, str) else text
        inputs = tokenizer(*sides, truncation=True, return_tensors="pt", **segments)
        answers[f"ids_{index}"] = inputs["input_ids"][0].numpy()
        outputs = model(**inputs)
        for key in ("last_hidden_state", "logits", "prediction_logits", "start_logits", "end_logits"):
            if key in outputs:
                answers[f"{key}_{index}"] = outputs[key][0].numpy()
    return answers


def main() -> None:
    """Writes the folders, and prints their number."""
    root, pattern = Path(sys.argv[1]), sys.argv[2]
    logging.disable()
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    count = 0
    for shape in read_shapes():
        if not re.search(pattern, f"{shape.name} {shape.model_type}"):
            continue
        folder = root / shape.name
        shutil.rmtree(folder, ignore_errors=True)
        build(shape, folder)
        try:
            with contextlib.redirect_stdout(sys.stderr), torch.no_grad():
                np.savez(folder / "answers.npz", **answer(shape, folder))
        except Exception as error:  # whatever a library raises
            (folder / "refused.txt").write_text(f"{type(error).__name__}: {error}")
        change_weights(shape, folder / "0_Transformer" if "subfolder" in shape.words else folder)
        count += 1
    versions = f"transformers {transformers.__version__}, sentence-transformers {sentence_transformers.__version__}"
    print(json.dumps({"folders": count, "versions": versions}))


if __name__ == "__main__":
    main()
