"""SavedModels of strangers: only operations that our exports have are loaded, and only where our exports have them."""

import json

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import keras_bert
from keras_bert.core.folders import SAVED_MODEL_FILE
from keras_bert.export.bundle import attach_companions
from keras_bert.export.runtimes import IDS_SIGNATURE
from keras_bert.export.saved_model import export_saved_model
from keras_bert.export.saved_operations import _OPERATIONS
from keras_bert.options.data import VECTOR_POOLINGS
from keras_bert.tasks.registry import TASKS
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.keras_bert.export.word_tasks import LENGTH, PIECES, SETTINGS, make_encoder, make_task, make_texts
from tests.keras_bert.families.test_every_graph import CONFIGS
from tests.keras_bert.tokenizers.subwords import bpe
from tests.samples import long_but


def operations(file):
    (graph,) = SavedModel.FromString(file.read_bytes()).meta_graphs
    functions = graph.graph_def.library.function
    return {node.op for nodes in (graph.graph_def.node, *(f.node_def for f in functions)) for node in nodes}


def every_kind():
    """Tasks, families and settings whose graphs differ."""
    yield from (make_task(name) for name in SETTINGS)
    for config in CONFIGS.values():
        settings = {"variant": config.variant, "embedding_size": config.embedding_size}
        yield make_task("question_answering", num_segments=config.num_segments, **settings)
    for name in ("gelu_erf", "relu", "silu"):
        yield make_task("regression", activation=name, pooler_activation=name)
    tokenizer = Tokenizer(PIECES, lowercase="keep_accents")
    vectors = {"prompts": {"query": "a: ", "passage": "b: "}, "normalize": False}
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        encoder = make_encoder(tokenizer)
        yield TASKS["retrieval"].build(encoder, tokenizer, max_length=LENGTH, similarity_function=name, **vectors)
    dense = [{"units": 16, "activation": name} for name in ("none", "tanh", "relu", "gelu_erf")]
    poolings = {"pooling": "+".join(VECTOR_POOLINGS), "dimension": 8, "projections": dense}
    yield TASKS["embedding"].build(make_encoder(tokenizer), tokenizer, max_length=LENGTH, **poolings)
    encoder = make_encoder(tokenizer, pooler=True)
    yield TASKS["reranking"].build(encoder, tokenizer, max_length=LENGTH, activation="sigmoid")
    yield TASKS["replaced_tokens"].build(make_encoder(tokenizer), tokenizer, max_length=LENGTH)
    for shape in ("embedding_size", "embedding_rank", "attention_size"):
        yield make_task("classification", **{shape: 4})
    yield make_task("classification", shared_layers=True, num_segments=0, position_offset=2)
    yield make_task("classification", tokenizer=SubwordTokenizer(json.loads(bpe())))
    adaptations = (keras_bert.Lora(rank=2), keras_bert.Adapters(size=4), keras_bert.Bias())
    for adaptation in (*adaptations, keras_bert.Prompt(tokens=2)):
        adapted = make_task("classification")
        adapted.max_length -= 2
        adapted.adapt(adaptation)
        yield adapted
    texts, labels = make_texts(12, 12), ["good", "bad"] * 6
    rounded, pruned = make_task("classification"), make_task("classification")
    keras_bert.quantize(rounded, texts, labels, post_training=True)
    keras_bert.prune(pruned, texts, labels, epochs=1, batch_size=4, verbose=0)
    yield from (rounded, pruned)


@pytest.mark.long
def test_the_operations_that_are_allowed_are_those_of_all_exports(tmp_path):
    written = set()
    for number, task in enumerate(every_kind()):
        with task._answering():
            export_saved_model(task, tmp_path / str(number))
        written |= operations(tmp_path / str(number) / SAVED_MODEL_FILE)
    assert written == _OPERATIONS


def write_and_read(target, secret):
    def run():
        with tf.control_dependencies([tf.io.write_file(str(target), "written")]):
            return tf.strings.length(tf.io.read_file(str(secret)))

    return run


def save_tensor(target, _):
    def run():
        with tf.control_dependencies(
            [
                tf.raw_ops.SaveV2(
                    prefix=str(target), tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant([1])]
                )
            ]
        ):
            return tf.constant(0)

    return run


def read_table(target, secret):
    def run():
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        lines = {"key_index": -2, "value_index": -1}
        made = tf.raw_ops.InitializeTableFromTextFileV2(table_handle=table, filename=str(secret), **lines)
        with tf.control_dependencies([made]):
            return tf.cast(
                tf.raw_ops.LookupTableFindV2(
                    table_handle=table, keys="secret", default_value=tf.constant(-1, tf.int64)
                ),
                tf.int32,
            )

    return run


@pytest.mark.parametrize(
    ("attack", "refused"),
    [
        (write_and_read, "ReadFile, WriteFile"),
        (save_tensor, "SaveV2"),
        (read_table, "InitializeTableFromTextFileV2"),
    ],
)
@pytest.mark.parametrize("is_nested", long_but([True], [False, True]))
def test_a_stranger_s_graph_that_touches_files_is_refused_before_it_is_loaded(attack, refused, is_nested, tmp_path):
    target, secret = tmp_path / "target", tmp_path / "secret"
    secret.write_text("secret\n")
    run = attack(target, secret)
    if is_nested:
        run = tf.function(run)
    task = make_task("classification")
    module = tf.Module()
    specs = {
        name: tf.TensorSpec((None, None), tf.int32, name=name) for name in ("padding_mask", "segment_ids", "token_ids")
    }

    @tf.function
    def serve(**inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        rows = tf.shape(inputs["token_ids"])[0]
        return {"logits": tf.zeros([rows, 3]) + tf.cast(run(), tf.float32)}

    file = tmp_path / "model" / SAVED_MODEL_FILE
    tf.saved_model.save(module, str(file.parent), signatures={IDS_SIGNATURE: serve.get_concrete_function(**specs)})
    attach_companions(task, file)
    task.save_settings(file.parent)
    # As the graph would do if it were loaded.
    signature = tf.saved_model.load(str(file.parent)).signatures[IDS_SIGNATURE]
    assert signature(**{name: tf.zeros([1, 4], tf.int32) for name in specs})["logits"].numpy().max() >= 0
    for written in tmp_path.glob("target*"):
        written.unlink()
    with pytest.raises(ValueError, match=rf"saved_model\.pb must be .*, as others may .*; got {refused}$"):
        keras_bert.load(file.parent)
    assert not list(tmp_path.glob("target*"))
