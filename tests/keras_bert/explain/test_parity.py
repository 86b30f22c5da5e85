"""Attention and integrated gradients against transformers and captum; see tests/golden/attentions.py."""

import numpy as np
import pytest

from keras_bert.explain.attention import attention_weights
from keras_bert.explain.attribution import attribute
from keras_bert.explain.explained import ExplainedRow
from keras_bert.explain.tokens import Tokens
from keras_bert.interop.hugging_face import read_model
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.targets import Target
from tests.keras_bert.interop.checkpoints import GOLDEN, make_tokenizer
from tests.keras_bert.interop.test_families import unpack

ATTENTIONS = sorted((GOLDEN / "attentions").glob("*Model.npz"))
CLASSIFIERS = sorted((GOLDEN / "attentions").glob("*ForSequenceClassification.npz"))
MASK, LABEL = 4, 1


@pytest.mark.parametrize("file", ATTENTIONS, ids=[file.stem for file in ATTENTIONS])
def test_attention_of_padded_rows_and_pairs(file, tmp_path):
    folder, content = unpack(GOLDEN / "families" / file.name, tmp_path / "theirs")
    model, expected = read_model(folder), np.load(file)["attention"]
    names = ("token_ids", "segment_ids", "padding_mask")
    weights = attention_weights(model, {name: content[name] for name in names})
    assert weights.shape == expected.shape
    real = content["padding_mask"].astype(bool)
    both = (real[:, None, :, None] & real[:, None, None, :])[None]
    weights = np.where(both, weights, 0)
    if file.stem == "BigBirdModel":
        # Blocks that a query sees three times have three shares in the softmax; transformers writes one of them into
        # its matrix, so that its rows do not sum to 1. Ours hold all that reaches the context.
        lost = ~np.isclose(weights, expected, atol=1e-5)
        assert (expected.sum(axis=-1)[lost.any(axis=-1)] < 0.999).all()
        assert 0 < lost.mean() < 0.05
        expected = np.where(lost, 3 * expected, expected)
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    assert (expected > 0.01).any()


@pytest.mark.parametrize("file", CLASSIFIERS, ids=[file.stem for file in CLASSIFIERS])
@pytest.mark.parametrize("baseline", ["pad", "mask"])
def test_integrated_gradients(file, baseline, tmp_path):
    folder, content = unpack(GOLDEN / "families" / file.name, tmp_path / "theirs")
    model, expected = read_model(folder), np.load(file)[baseline]
    length = len(expected)
    pieces = tuple(f"token{number}" for number in range(40))
    tokenizer = make_tokenizer(pieces, pad_id=1 if "Roberta" in file.stem else 0)
    tokenizer.mask_id = MASK
    task = Classification(model, tokenizer, labels=("bad", "so-so", "good"), max_length=length)
    words = np.array([-1, *range(length - 2), -1], "int32")
    ids = content["token_ids"][0].tolist()
    places = np.zeros((length, 2), "int32")
    tokens = Tokens(("text",), tuple(pieces[number] for number in ids), content["segment_ids"][0], places, words, (0,))
    features = {name: content[name][:1] for name in ("token_ids", "segment_ids", "padding_mask")}
    row = ExplainedRow(tokens, features, Target("so-so", "so-so", lambda logits: logits[:, LABEL]))
    attribution = attribute(task, row, "integrated_gradients", f"[{baseline.upper()}]", steps=64)
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(attribution.token_scores, expected, atol=1e-4)
