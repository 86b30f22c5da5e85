"""Fewer pieces, the same answers."""

import numpy as np
import pytest
from keras import ops

import keras_bert
from keras_bert.compress.vocabulary import count_token_ids, reduce_vocabulary
from keras_bert.core.config import EncoderConfig
from keras_bert.models.encoder import build_encoder, config_of
from keras_bert.options.adaptation import Lora
from keras_bert.tasks.calibration import Calibration
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.question_answering import QuestionAnswering, separator_of
from keras_bert.tasks.registry import load
from keras_bert.tokenizers.fitting import choose_vocabulary
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.components import tuning_job
from tests.keras_bert.interop.family_checkpoints import FAMILIES, SHAPE, make_checkpoint
from tests.keras_bert.models.test_encoder import randomize
from tests.keras_bert.tokenizers import subwords

TEXTS = [" ".join(tuning_job.WORDS[:4]), tuning_job.WORDS[1]]


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_of_what_stays_get_the_same_answers(family, tmp_path):
    task = make_checkpoint(tmp_path / "theirs", family, tuning_job.WORDS)
    randomize(task.model)
    counts = np.bincount(task.tokenizer.tokenize(TEXTS).flat_values.numpy(), minlength=task.tokenizer.vocabulary_size)
    kept = choose_vocabulary(task.tokenizer, counts)
    fewer = reduce_vocabulary(task, kept)
    assert fewer.tokenizer.vocabulary_size == len(kept) < task.tokenizer.vocabulary_size
    assert config_of(fewer.model).vocabulary_size == len(kept)
    rows = [restored.tokenizer.encode(TEXTS, max_length=12, pad_to_longest=True) for restored in (task, fewer)]
    inputs = [{spec.name: row[spec.name] for spec in task.encoder.inputs} for row in rows]
    answers = [restored.encoder(row)["sequence_output"] for restored, row in zip((task, fewer), inputs, strict=True)]
    mask = np.asarray(rows[0]["padding_mask"])[..., None]
    np.testing.assert_allclose(*(np.asarray(answer) * mask for answer in answers), atol=1e-6)
    # The original is as it was, and what was made can be saved.
    assert config_of(task.model).vocabulary_size > len(kept)
    fewer.save(tmp_path / "fewer")
    again = load(tmp_path / "fewer")
    np.testing.assert_equal(again.model.get_weights(), fewer.model.get_weights())


@pytest.mark.parametrize("family", ["longformer", "big_bird"])
def test_questions_get_the_same_answers_where_the_graph_reads_the_separator(family):
    # The special tokens stand behind all others, so that the separator's id changes.
    tokenizer = SubwordTokenizer(subwords.content("modern"))
    changes = {**SHAPE, **FAMILIES[family][0], "num_segments": 1, "vocabulary_size": tokenizer.vocabulary_size}
    encoder = build_encoder(EncoderConfig(**changes), pooler=False)
    task = QuestionAnswering.build(encoder, tokenizer, max_length=32, max_query_length=8, stride=4)
    randomize(task.model)
    counts = np.bincount(task.tokenizer.tokenize(TEXTS).flat_values.numpy(), minlength=task.tokenizer.vocabulary_size)
    kept = choose_vocabulary(task.tokenizer, counts)
    fewer = reduce_vocabulary(task, kept)
    assert separator_of(fewer.model) == fewer.tokenizer.sep_id < task.tokenizer.sep_id
    answers = [restored.predict(TEXTS[1:], TEXTS[:1])[0] for restored in (task, fewer)]
    assert answers[0].text == answers[1].text != ""
    np.testing.assert_allclose(answers[1].probability, answers[0].probability, rtol=1e-4)


@pytest.mark.parametrize("family", ["roberta", "albert", "mobilebert"])
def test_the_head_of_masked_tokens_scores_the_pieces_that_stay(family, tmp_path):
    embedding = make_checkpoint(tmp_path, family, tuning_job.WORDS)
    task = Pretraining.build(embedding.encoder, embedding.tokenizer, max_length=12, next_sentence=False)
    randomize(task.model)
    counts = np.bincount(task.tokenizer.tokenize(TEXTS).flat_values.numpy(), minlength=task.tokenizer.vocabulary_size)
    kept = choose_vocabulary(task.tokenizer, counts)
    fewer = reduce_vocabulary(task, kept)
    scores = []
    for one in (task, fewer):
        row = one.tokenizer.encode(TEXTS, max_length=12)
        inputs = {spec.name: row[spec.name] for spec in one.model.inputs if spec.name in row}
        scores.append(np.asarray(one.model({**inputs, "mask_positions": ops.array([[1], [2]])})["masked_tokens"]))
    np.testing.assert_allclose(scores[0][..., kept], scores[1], atol=1e-5)


def test_what_stands_beside_the_weights_stays(tmp_path):
    encoder = make_checkpoint(tmp_path, "electra", tuning_job.WORDS)
    task = Classification.build(encoder.encoder, encoder.tokenizer, labels=["a", "b"], max_length=12)
    keras_bert.quantize(task, TEXTS, post_training=True)
    task.calibration, task.pairs = Calibration(temperature=2.0), False
    fewer = reduce_vocabulary(task, range(task.tokenizer.vocabulary_size))
    assert fewer.predict(TEXTS) == task.predict(TEXTS)
    assert (fewer.calibration, fewer.pairs, fewer.quantization) == (task.calibration, False, task.quantization)


def test_an_adapter_is_refused(tmp_path):
    task = make_checkpoint(tmp_path, "electra", tuning_job.WORDS)
    task.adapt(Lora(rank=2))
    with pytest.raises(ValueError, match=r"\.adapter must be merged or dropped first, got "):
        reduce_vocabulary(task, range(task.tokenizer.vocabulary_size))


def test_pieces_are_counted_without_padding_in_all_texts():
    row = {"token_ids": np.array([[2, 5, 5, 0]]), "padding_mask": np.array([[1, 1, 1, 0]])}
    pair = {**row, "second_token_ids": np.array([[5, 3, 0, 0]]), "second_padding_mask": np.array([[1, 1, 0, 0]])}
    np.testing.assert_array_equal(count_token_ids([row, pair], 7), [0, 0, 2, 1, 0, 5, 0])
    negatives = {"negative_token_ids": np.array([[6, 0]]), "negative_padding_mask": np.array([[1, 0]])}
    np.testing.assert_array_equal(count_token_ids([{**pair, **negatives}], 7), [0, 0, 1, 1, 0, 3, 1])
