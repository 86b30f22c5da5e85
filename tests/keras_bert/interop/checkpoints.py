"""Small tasks with random weights, and copies of the golden checkpoints that tests may break."""

import functools
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
from keras import ops
from safetensors.numpy import load_file, save_file

from keras_bert.interop.hugging_face import read_model
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.registry import TASKS
from tests.keras_bert.tiny import tiny_config

GOLDEN = Path(__file__).parents[2] / "golden"
PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg", *(f"##{piece}" for piece in "abcdefg"))
DROPOUT = {"dropout": 0.2, "attention_dropout": 0.3}
CONFIG = tiny_config(
    **DROPOUT, intermediate_size=20, initializer_range=0.05, vocabulary_size=len(PIECES), max_length=26, num_segments=3
)


def make_tokenizer(pieces, pad_id=0, sep_id=3):
    """Only what the tasks and the writers ask of a tokenizer; the real one needs TensorFlow."""
    return SimpleNamespace(
        vocabulary=pieces,
        vocabulary_size=len(pieces),
        lowercase=True,
        pad_id=pad_id,
        sep_id=sep_id,
        special_count=lambda texts: texts + 1,
        word_marks=lambda: np.array([piece.startswith("##") for piece in pieces]),
    )


TOKENIZER = make_tokenizer(PIECES)

# Name -> key of TASKS, its settings, whether the encoder has a pooler.
KINDS = {
    "classification": ("classification", {"labels": ("low", "mid", "high"), "dropout": 0.25}, True),
    "embedding": ("embedding", {}, True),
    "embedding_without_pooler": ("embedding", {}, False),
    "multi_label": ("multi_label", {"labels": ("low", "mid", "high"), "dropout": 0.25}, True),
    "masked_tokens": ("pretraining", {}, False),
    "pretraining": ("pretraining", {"next_sentence": True}, True),
    "question_answering": ("question_answering", {"stride": 7, "max_query_length": 8}, False),
    "regression": ("regression", {"dropout": 0.25}, True),
    "token_classification": ("token_classification", {"labels": ("O", "B-x", "I-x"), "dropout": 0.25}, False),
}


@functools.cache
def known_task(kind):
    """`make_task` with its defaults, for tests that change nothing of it; building a model is what takes time."""
    return make_task(kind)


@functools.cache
def known_model(name):
    """A golden model, for tests that change nothing of it."""
    return read_model(GOLDEN / name)


def make_task(kind, config=CONFIG, tokenizer=TOKENIZER, **further):
    """A task with random trainable weights; the scale of a regression, which does not train, stays 0 and 1."""
    name, settings, pooler = KINDS[kind]
    task = TASKS[name].build(
        build_encoder(config, pooler=pooler), tokenizer, max_length=config.max_length, **{**settings, **further}
    )
    rng = np.random.default_rng(5)
    for weight in task.model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return task


def weights_of(model):
    return {weight.path: weight.numpy() for weight in model.weights}


def check_equal_weights(first, second):
    """The same weights, bit by bit."""
    first, second = weights_of(first), weights_of(second)
    assert first.keys() == second.keys()
    for path, array in first.items():
        assert array.dtype == second[path].dtype == "float32"
        np.testing.assert_array_equal(array, second[path], err_msg=path)


def copy_golden(name, folder):
    """A golden checkpoint that may be broken."""
    return Path(shutil.copytree(GOLDEN / name, folder / name))


def change_json(path, **changes):
    """Sets keys of a JSON file; those that are None go away."""
    content = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def change_tensors(folder, change):
    """Writes what `change` makes of the tensors of a Hugging Face folder."""
    tensors = change(load_file(folder / "model.safetensors"))
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / "model.safetensors")


def golden(name):
    """Inputs and outputs of a golden checkpoint, and which tokens are not padding."""
    content = dict(np.load(GOLDEN / name / "outputs.npz"))
    return content, content["padding_mask"].astype(bool)


def run(model, content):
    """The model's outputs on golden inputs; every place is predicted where it asks for places."""
    rows, length = content["token_ids"].shape
    places = np.tile(np.arange(length, dtype="int32"), (rows, 1))
    inputs = {"mask_positions": places, **content}
    outputs = model({spec.name: inputs[spec.name] for spec in model.inputs})
    return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def split_tensors(folder, places=None):
    """Two shards and their index in place of one file."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    shards = {f"model-0000{part + 1}-of-00002.safetensors": sorted(tensors)[part::2] for part in range(2)}
    for shard, names in shards.items():
        save_file({name: tensors[name] for name in names}, folder / shard)
    where = {name: shard for shard, names in shards.items() for name in names}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {**where, **(places or {})}}))
