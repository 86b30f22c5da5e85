"""Integrated gradients of every family and task equal those of captum, for pairs of texts and both baselines."""

import json

import numpy as np
import pytest

from keras_bert.interop.hugging_face import from_hugging_face, read_model
from keras_bert.tasks.classification import Classification
from plugins.explain.attribution import attributions
from tests.keras_bert.interop.checkpoints import GOLDEN
from tests.keras_bert.interop.test_families import FILES, unpack
from tests.samples import long_but

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.tokenizers.tokenizer import Tokenizer

REFERENCE = json.loads((GOLDEN / "attributions.json").read_text())
LABELS = ["bad", "so-so", "good"]
# Every task; of the families one without segments, one with relative positions, and two with attention of their own.
FEW = [
    name for name in REFERENCE if name.startswith(("hugging_face", "Roberta", "DebertaV2", "ModernBert", "Longformer"))
]


def test_every_family_has_a_reference():
    classifiers = {file.stem for file in FILES if file.stem.endswith("ForSequenceClassification")}
    assert {name for name in classifiers if "-" not in name} == {name for name in REFERENCE if "_" not in name}


@pytest.mark.parametrize("name", long_but(FEW, REFERENCE))
def test_integrated_gradients_equal_those_of_captum(name, tmp_path):
    expected = REFERENCE[name]
    if name.startswith("hugging_face"):
        task = from_hugging_face(GOLDEN / name)
    else:
        folder, _ = unpack(GOLDEN / "families" / f"{name}.npz", tmp_path / "theirs")
        tokenizer = Tokenizer(expected["vocabulary"], lowercase=True)
        task = Classification(read_model(folder), tokenizer, labels=LABELS, max_length=len(expected["tokens"]))
    for baseline, token_scores in expected["token_scores"].items():
        attribution = attributions(
            task, expected["text"], expected["target"], pair=expected["pair"], baseline=baseline, steps=64
        )
        assert list(attribution.tokens) == expected["tokens"]
        assert attribution.score == pytest.approx(expected["score"], abs=2e-5)
        assert np.ptp(token_scores) > 0.01, "the tokens differ"
        np.testing.assert_allclose(attribution.token_scores, token_scores, rtol=0, atol=1e-5)
