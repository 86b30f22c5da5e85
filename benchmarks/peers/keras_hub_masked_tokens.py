"""A masked-token training step of keras-hub's models: what `fit` calls for each batch.

    PYTHON -m benchmarks.peers.keras_hub_masked_tokens FAMILY SHAPE --rows 32 --length 128 --seconds 1

For an interpreter with keras-hub and tensorflow. Loss and metric are those that keras-hub chooses.
"""

import argparse
import json
from typing import Any

from benchmarks.harness.contestants import answer
from benchmarks.harness.masked_batches import POSITIONS, VOCABULARY, Step, make_batch, serve_steps

# `model_type` -> what its classes' names begin with, and what its backbone needs besides the shape.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {}),
    "xlm-roberta": ("XLMRoberta", {}),
    "distilbert": ("DistilBert", {}),
    "albert": ("Albert", {"embedding_dim": 128}),
    "deberta-v2": ("DebertaV3", {}),
}


def main() -> None:
    """Says the versions, and serves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("shape", type=json.loads, help="arguments of the backbone, as JSON")
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    import keras
    import keras_hub
    import tensorflow as tf

    libraries = {"keras-hub": keras_hub, "keras": keras, "tensorflow": tf}
    answer({"versions": {name: library.__version__ for name, library in libraries.items()}})
    serve_steps(
        lambda mode: make_step(options.family, options.shape, mode, options.rows, options.length), options.seconds
    )


def make_step(family: str, shape: dict[str, Any], mode: str, rows: int, length: int) -> Step:
    """A step of a mode: `float32` or `bfloat16`, and `XLA` behind it or nothing."""
    import keras
    import keras_hub
    import tensorflow as tf

    title, further = FAMILIES[family]
    dtype, *compiler = mode.split()
    keras.config.set_dtype_policy("mixed_bfloat16" if dtype == "bfloat16" else "float32")
    settings = {"vocabulary_size": VOCABULARY, "max_sequence_length": POSITIONS, **shape, **further}
    backbone = getattr(keras_hub.models, f"{title}Backbone")(**settings)
    model = getattr(keras_hub.models, f"{title}MaskedLM")(backbone, preprocessor=None)
    optimizer = keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, jit_compile=bool(compiler))
    batch = make_batch(rows, length)
    labels, weights = batch["mask_ids"], batch["mask_weights"]
    inputs = {name: batch[name] for name in model.input}
    batches = iter(tf.data.Dataset.from_tensors((inputs, labels, weights)).cache().repeat())
    step = model.make_train_function() or model.train_function
    # Its metrics are a tensor until somebody reads them: the step is over then.
    return lambda: float(step(batches)["loss"])


if __name__ == "__main__":
    main()
