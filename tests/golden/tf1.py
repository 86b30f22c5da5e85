"""Makes the references of tests/keras_bert/interop/test_tf1.py with Google's own code.

    python tests/golden/tf1.py <checkout of github.com/google-research/bert>

Made with Python 3.11, TensorFlow 2.21 and google-research/bert at eedf571. That code is of TensorFlow 1: what of it is
gone since (`tf.contrib.layers.layer_norm`, `tf.layers.dense`) is written out below. All weights are random numbers.
"""

import importlib
import json
import sys
import types
from pathlib import Path

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
HERE = Path(__file__).parent
FLAG_KINDS = ("string", "bool", "integer", "float", "boolean")
SIZES = {
    "vocab_size": 59,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 40,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"piece{number}" for number in range(54))]


def layer_norm(inputs, begin_norm_axis, begin_params_axis, scope):
    """`tf.contrib.layers.layer_norm` of TensorFlow 1.15 over the last axis, whose epsilon was 1e-12."""
    assert begin_norm_axis == begin_params_axis == -1
    with tf.variable_scope(scope, default_name="LayerNorm"):
        beta = tf.get_variable("beta", inputs.shape[-1:], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", inputs.shape[-1:], initializer=tf.ones_initializer())
    mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
    return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


def dense(inputs, units, activation=None, kernel_initializer=None, name=None):
    """`tf.layers.dense` of TensorFlow 1.15."""
    with tf.variable_scope(name, default_name="dense"):
        kernel = tf.get_variable("kernel", [inputs.shape[-1], units], initializer=kernel_initializer)
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
    result = tf.matmul(inputs, kernel) + bias
    return result if activation is None else activation(result)


def import_google(checkout: Path):
    """Google's modules, with a TensorFlow that has what they look for."""

    class Old(types.ModuleType):
        def __getattr__(self, name):
            return getattr(tf, name)

    old = Old("tensorflow")
    old.contrib = types.SimpleNamespace(layers=types.SimpleNamespace(layer_norm=layer_norm))
    old.layers = types.SimpleNamespace(dense=dense)
    # The scripts define the same flags.
    old.flags = types.SimpleNamespace(FLAGS=None, **{f"DEFINE_{kind}": lambda *_: None for kind in FLAG_KINDS})
    tf.disable_v2_behavior()
    sys.path.insert(0, str(checkout))
    sys.modules["tensorflow"] = old
    try:
        return [
            importlib.import_module(name) for name in ("modeling", "run_pretraining", "run_classifier", "run_squad")
        ]
    finally:
        sys.modules["tensorflow"] = tensorflow


def make_inputs() -> dict[str, np.ndarray]:
    """Three rows of which two are padded, with two segments."""
    rng = np.random.default_rng(8)
    lengths = np.array([[11], [7], [3]])
    places = np.arange(11)[None, :]
    mask = (places < lengths).astype("int32")
    return {
        "token_ids": rng.integers(1, SIZES["vocab_size"], (3, 11)).astype("int32") * mask,
        "segment_ids": (places >= lengths // 2).astype("int32") * mask,
        "padding_mask": mask,
        "mask_positions": np.array([[1, 5], [2, 6], [1, 0]], "int32"),
    }


def make(name: str, modules) -> None:
    """One checkpoint with random weights, inputs, and what Google's graph answers."""
    modeling, pretraining, classifier, squad = modules
    inputs = make_inputs()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(len(name))
        config = modeling.BertConfig.from_dict(SIZES)
        ids, segments, mask, positions = (tf.constant(array) for array in inputs.values())
        if name == "classification":
            outputs = {"logits": classifier.create_model(config, False, ids, mask, segments, [0, 1, 2], 3, False)[2]}
        elif name == "question_answering":
            start, end = squad.create_model(config, False, ids, mask, segments, False)
            outputs = {"start": start, "end": end}
        else:
            model = modeling.BertModel(config, False, ids, mask, segments)
            labels = tf.zeros([6], tf.int32)
            masked = pretraining.get_masked_lm_output(
                config, model.get_sequence_output(), model.get_embedding_table(), positions, labels, tf.ones([6])
            )
            follows = pretraining.get_next_sentence_output(config, model.get_pooled_output(), tf.zeros([3], tf.int32))
            outputs = {
                "states": model.get_sequence_output(),
                "pooled": model.get_pooled_output(),
                "masked_log_probabilities": masked[2],
                "next_sentence_log_probabilities": follows[2],
            }
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            centre = 1.0 if variable.op.name.endswith("gamma") else 0.0
            session.run(variable.assign(tf.random.normal(variable.shape, centre, 0.3)))
        folder = HERE / f"tf1_{name}"
        folder.mkdir(exist_ok=True)
        tf.train.Saver().save(session, str(folder / "model.ckpt"), write_meta_graph=False, write_state=False)
        answers = {f"output_{key}": value for key, value in session.run(outputs).items()}
    np.savez_compressed(folder / "outputs.npz", **inputs, **answers)
    (folder / "bert_config.json").write_text(json.dumps(SIZES, indent=2) + "\n")
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))


if __name__ == "__main__":
    google = import_google(Path(sys.argv[1]))
    for head in ("pretraining", "classification", "question_answering"):
        make(head, google)
