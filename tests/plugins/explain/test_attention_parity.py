"""The attention probabilities of every family equal those of transformers; no tokenizer, so any Keras backend."""

import numpy as np
import pytest

from keras_bert.interop.hugging_face import read_model
from plugins.explain.attention import EncoderAttention
from tests.keras_bert.interop.checkpoints import GOLDEN, golden
from tests.keras_bert.interop.test_families import FILES, unpack
from tests.samples import long_but

REFERENCE = dict(np.load(GOLDEN / "attentions.npz"))
# Graphs that another family has, too, and heads, which change no attention but a Longformer's.
ALIKE = ("XLMRoberta", "Camembert", "Data2VecText", "DistilBert", "Ernie", "Electra", "MegatronBert", "Gte")
FEW = [
    name
    for name in REFERENCE
    if "Longformer" in name or (name.endswith(("Model", "_model")) and not name.startswith(ALIKE))
]


def test_every_family_has_a_reference():
    assert {file.stem for file in FILES if file.stem.endswith("Model") and "-" not in file.stem} <= set(REFERENCE)


@pytest.mark.parametrize("name", long_but(FEW, REFERENCE))
def test_attention_equals_that_of_transformers(name, tmp_path):
    """All keys are compared, and all queries but padding; padding as a key gets nothing."""
    if name.startswith("hugging_face"):
        folder, (content, _) = GOLDEN / name, golden(name)
    else:
        folder, content = unpack(GOLDEN / "families" / f"{name}.npz", tmp_path / "theirs")
    weights, mask = EncoderAttention(read_model(folder)).weights(content), content["padding_mask"]
    weights = weights * mask[None, :, None, :, None]
    np.testing.assert_allclose(weights, REFERENCE[name], rtol=0, atol=1e-5)
    assert weights[np.broadcast_to(mask[None, :, None, None, :] == 0, weights.shape)].max() < 1e-6
