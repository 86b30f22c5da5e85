"""Makes tests/golden/gemma.json with transformers and sentence-transformers: outputs of a tiny EmbeddingGemma.

    python -m tests.golden.gemma

Made with Python 3.11, torch 2.10.0, transformers 5.3.0, sentence-transformers 5.3.0. `write_folder` writes the folder,
with random weights, the modules of EmbeddingGemma, and a BPE of its layout.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

FILE = Path(__file__).parent / "gemma.json"
TEXTS = ["the cow", "the old bridge went by a cow and the old bridge went by a cow", "a", "unheard-of"]
PROMPTS = {"query": "task: search | query: ", "document": "title: none | text: "}
PIECES = ["▁the", "▁a", "▁cow", "▁old", "▁bridge", "▁went", "▁by", "cow"]
CONFIG: dict[str, Any] = {
    "architectures": ["Gemma3TextModel"],
    "model_type": "gemma3_text",
    "use_bidirectional_attention": True,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "query_pre_attn_scalar": 4,
    "sliding_window": 6,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
    "max_position_embeddings": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
}


def write_tokenizer(folder: Path) -> int:
    """A tokenizer of Gemma's layout; returns its number of tokens."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    letters = sorted({letter for text in (*TEXTS, *PROMPTS.values()) for letter in text.replace(" ", "▁")} - {"-"})
    merges, pieces = [], []
    for piece in PIECES:
        for end in range(2, len(piece) + 1):
            if piece[:end] not in pieces:
                pieces.append(piece[:end])
                merges.append([piece[: end - 1], piece[end - 1]])
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *pieces]
    flags = {"special": True, **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)}
    pieces_of = {"<bos>": 2, "<eos>": 1}
    single = [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    single.append({"SpecialToken": {"id": "<eos>", "type_id": 0}})
    pair = [*single, {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "<eos>", "type_id": 0}}]
    content = {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": name, **flags} for number, name in enumerate(special)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": {name: {"id": name, "ids": [pieces_of[name]], "tokens": [name]} for name in pieces_of},
        },
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False))
    names = dict(zip(("pad_token", "eos_token", "bos_token", "unk_token", "mask_token"), special, strict=True))
    settings = {"tokenizer_class": "GemmaTokenizer", "model_max_length": 64, "padding_side": "right", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return len(tokens)


def write_folder(folder: Path) -> Path:
    """The files of a model with random weights: the encoder, the mean, two dense modules, and prompts."""
    folder.mkdir()
    vocabulary, chance = write_tokenizer(folder), np.random.default_rng(0)
    (folder / "config.json").write_text(json.dumps({**CONFIG, "vocab_size": vocabulary}))
    hidden, units, heads, groups = 16, 24, 16, 8
    shapes = {"embed_tokens": (vocabulary, hidden), "norm": (hidden,)}
    for layer in range(3):
        shapes |= {
            f"layers.{layer}.{name}": shape
            for name, shape in {
                **{f"self_attn.{part}_proj": (groups, hidden) for part in "kv"},
                "self_attn.q_proj": (heads, hidden),
                "self_attn.o_proj": (hidden, heads),
                **{f"self_attn.{part}_norm": (4,) for part in "qk"},
                **{f"mlp.{part}_proj": (units, hidden) for part in ("gate", "up")},
                "mlp.down_proj": (hidden, units),
                **{f"{part}_layernorm": (hidden,) for part in ("input", "post_attention")},
                **{f"{part}_feedforward_layernorm": (hidden,) for part in ("pre", "post")},
            }.items()
        }
    tensors = {f"{name}.weight": chance.normal(scale=0.3, size=shapes[name]).astype("float32") for name in shapes}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    paths = ("", "1_Pooling", "2_Dense", "3_Dense", "4_Normalize")
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{path[2:]}"}
        for number, path in enumerate(paths)
    ]
    modules[0]["type"] = "sentence_transformers.models.Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 64, "do_lower_case": false}')
    settings = {"prompts": PROMPTS, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    for path, content in (("1_Pooling", {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True}),):
        (folder / path).mkdir()
        (folder / path / "config.json").write_text(json.dumps(content))
    for path, rows, columns in (("2_Dense", 16, 20), ("3_Dense", 20, 16)):
        (folder / path).mkdir()
        content = {"in_features": rows, "out_features": columns, "bias": False}
        content["activation_function"] = "torch.nn.modules.linear.Identity"
        (folder / path / "config.json").write_text(json.dumps(content))
        kernel = chance.normal(size=(columns, rows)).astype("float32")
        save_file({"linear.weight": kernel}, folder / path / "model.safetensors")
    return folder


if __name__ == "__main__":
    import torch
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as place:
        model = SentenceTransformer(str(write_folder(Path(place) / "gemma")), device="cpu")
        rows = model.tokenizer(TEXTS, padding=True, return_tensors="pt")
        with torch.no_grad():
            states = model[0].auto_model(**{name: rows[name] for name in ("input_ids", "attention_mask")})[0]
        lengths = rows["attention_mask"].sum(dim=1).tolist()
        content = {
            "ids": [ids[:length] for ids, length in zip(rows["input_ids"].tolist(), lengths, strict=True)],
            "states": [row[:length].numpy().round(6).tolist() for row, length in zip(states, lengths, strict=True)],
            "query": model.encode_query(TEXTS).round(6).tolist(),
            "passage": model.encode_document(TEXTS).round(6).tolist(),
        }
    FILE.write_text(json.dumps(content))
