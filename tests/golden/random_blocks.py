"""Makes the references of tests/keras_bert/layers/test_random_blocks.py with transformers itself.

    python -m tests.golden.random_blocks

Made with Python 3.11, torch 2.13.0, transformers 5.23.0: the random blocks that BigBird's attention draws in training.
"""

from pathlib import Path
from typing import Any

import numpy as np
from transformers import BigBirdConfig
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

FILE = Path(__file__).parent / "random_blocks.npz"
# Tokens, positions, block size, random blocks, heads, seed.
CASES = (
    (48, 64, 4, 2, 2, 0),
    (60, 64, 4, 1, 3, 5),
    (2048, 4096, 64, 3, 1, 1),
    (1024, 1024, 64, 3, 2, 2),
    (1024, 4096, 64, 3, 1, 2),
    (3072, 8192, 64, 3, 1, 7),
)
PLANNED = (1024, 3072, 4096)


def draw(tokens: int, positions: int, size: int, count: int, heads: int, seed: int) -> np.ndarray[Any, Any]:
    """As `bigbird_block_sparse_attention` does it: int32 (heads, blocks - 2, count)."""
    config = BigBirdConfig(
        hidden_size=2 * heads,
        num_attention_heads=heads,
        max_position_embeddings=positions,
        block_size=size,
        num_random_blocks=count,
    )
    layer = BigBirdBlockSparseAttention(config, seed=seed).train()
    np.random.seed(seed)  # noqa: NPY002
    if tokens in PLANNED:
        tables = [
            layer._bigbird_block_rand_mask(positions, positions, size, size, count, last_idx=1024) for _ in range(heads)
        ]
        return np.stack(tables)[:, : tokens // size - 2]
    plan, counts = layer._get_rand_attn_plan(tokens, size, count)
    drawn = layer._bigbird_block_rand_mask_with_head(tokens, tokens, size, size, heads, plan, counts)
    return np.stack(drawn)


if __name__ == "__main__":
    np.savez_compressed(FILE, **{"-".join(map(str, case)): draw(*case).astype("int16") for case in CASES})
