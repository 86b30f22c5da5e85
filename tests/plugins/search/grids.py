"""Grids of candidates for tests: of a job's text and a made-up search space."""

from keras_bert.core.config import EncoderConfig
from plugins.search.artifacts import SearchBounds, VocabularySize
from plugins.search.candidates import Candidate, Grid
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load

CONFIG = EncoderConfig(
    vocabulary_size=30000, hidden_size=384, num_layers=6, num_heads=12, intermediate_size=1536, max_length=128
)
WHOLE = Candidate(6, 12, 1536, 384, 30000, "mixed_wi8_ai8")
PIECES = [(30000, 1.0), (8000, 0.999), (4000, 0.97), (2000, 0.8)]


def job(folder, text=""):
    """The settings of a checkpoint and examples, with more tables."""
    return load(folder, CHECKPOINT + EXAMPLES + text)


def make_bounds(config=CONFIG, pieces=PIECES, *, free=True):
    """The search space of such a teacher."""
    return SearchBounds(config, 128, free, [VocabularySize(*entry) for entry in pieces])


def grid(folder, text="", **changes):
    """All candidates of such a job."""
    return Grid.of(job(folder, text), make_bounds(**changes))
