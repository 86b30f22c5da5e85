import numpy as np
import pytest

from keras_bert.export.comparison import predict_as_padded
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.tiny import tiny_config

CONFIG = tiny_config(
    max_length=20, num_layers=1, num_segments=0, initializer_range=0.5, variant=BigBird(block_size=2, random_blocks=1)
)


@pytest.mark.parametrize("along", [False, True])
def test_rows_as_wide_as_a_file_makes_them(along):
    encoder = build_encoder(CONFIG)
    model = build_tagger(encoder, 2) if along else build_classifier(encoder, 2)
    rng, counts = np.random.default_rng(0), (5, 17, 7)
    mask = (np.arange(18) < np.array(counts)[:, None]).astype("int32")
    inputs = {"token_ids": rng.integers(0, 20, (3, 18)).astype("int32"), "padding_mask": mask}
    outputs = predict_as_padded(model, {**inputs, "segment_ids": mask}, (8, 20))
    for row, (count, width) in enumerate(zip(counts, (8, 20, 8), strict=True)):
        room = ((0, 0), (0, max(0, width - 18)))
        alone = model({name: np.pad(value[row : row + 1, :width], room) for name, value in inputs.items()})
        expected = np.asarray(alone)[0]
        if along:
            np.testing.assert_allclose(outputs[row, :count], expected[:count], atol=1e-6)
        else:
            np.testing.assert_allclose(outputs[row], expected, atol=1e-6)
