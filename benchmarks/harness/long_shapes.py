"""The shapes that `benchmarks.long_input` times: a small encoder, with attention of three kinds."""

from typing import Any

VOCABULARY, LAYERS, HIDDEN = 2000, 2, 128
WINDOW, BLOCK = 128, 64
LENGTHS = (512, 1024, 2048, 4096, 8192)
FAMILIES = ("bert", "longformer", "big_bird")


def settings_of(family: str, length: int) -> dict[str, Any]:
    """Keys of transformers' configuration of a family."""
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HIDDEN // 64,
        "intermediate_size": 4 * HIDDEN,
        "max_position_embeddings": length,
    }
    longformer = {"max_position_embeddings": length + 2, "type_vocab_size": 1, "pad_token_id": 1}
    changes = {"longformer": {**longformer, "attention_window": WINDOW}, "big_bird": {"block_size": BLOCK}}
    return {**shape, **changes.get(family, {})}
