"""A small model of each task, a batch for it and its objective; the numbers are checked with plain NumPy."""

from typing import NamedTuple

import keras
import numpy as np
from scipy.special import log_softmax

from keras_bert.core.config import EncoderConfig
from keras_bert.core.losses import IGNORED
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.base import TaskObjective
from keras_bert.objectives.reranking import RerankingObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.objectives.tasks import (
    ClassificationObjective,
    EmbeddingObjective,
    MultiLabelObjective,
    QuestionAnsweringObjective,
    RegressionObjective,
    TokenClassificationObjective,
)
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.embedding import build_embedder
from keras_bert.tasks.question_answering import build_span_classifier
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize

INPUTS = make_inputs()
ROWS, LENGTH = INPUTS["token_ids"].shape
WEIGHTS = (0.5, 3.0, 1.25)

LABELS = np.array([2, 0, 1], "int32")
TAGS = np.full((ROWS, LENGTH), IGNORED, "int32")
TAGS[0, 1:4], TAGS[1, 2] = (2, 0, 1), 1
TAGGED = np.nonzero(TAGS != IGNORED)
FLAGS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], "int32")
VALUES = np.array([0.5, -2.0, 4.0], "float32")
POSITIONS = np.array([[1, 2], [0, 0], [2, 2]], "int32")
COSINES = np.array([1.0, -0.25, 0.5], "float32")
# The second row has two negatives, the first one, the last none.
NEGATIVES = {f"negative_{name}": values for name, values in make_inputs(seed=2).items()}
GROUPS = {
    "answer_groups": np.array([[0], [1], [0]], "int32"),
    "passage_group": np.array([0, 1, 0], "int32"),
    "negative_group": np.array([2, 3, 1], "int32"),
    "negative_row": np.array([0, 1, 1], "int32"),
}
SECOND = {f"second_{name}": values for name, values in make_inputs(seed=1).items()}


class Kind(NamedTuple):
    objective: TaskObjective
    batch: dict[str, np.ndarray]


KINDS = {
    "classification": Kind(ClassificationObjective(WEIGHTS), {**INPUTS, "label": LABELS}),
    "multi_label": Kind(MultiLabelObjective(WEIGHTS), {**INPUTS, "label": FLAGS}),
    "regression": Kind(RegressionObjective(), {**INPUTS, "value": VALUES}),
    "reranking": Kind(RerankingObjective(), {**INPUTS, "value": VALUES, "list": np.array([0, 0, 1], "int32")}),
    "token_classification": Kind(TokenClassificationObjective(WEIGHTS), {**INPUTS, "label": TAGS}),
    "question_answering": Kind(QuestionAnsweringObjective(), {**INPUTS, "positions": POSITIONS}),
    "embedding": Kind(EmbeddingObjective(), {**INPUTS, **SECOND, "value": COSINES}),
    "retrieval": Kind(RetrievalObjective(), {**INPUTS, **SECOND, **NEGATIVES, **GROUPS}),
}


def build(kind, seed=0, **changes):
    """A model with one output, as `Task.network` gives it, and random weights."""
    encoder = build_encoder(EncoderConfig(**{**SETTINGS, **changes}))
    match kind:
        case "classification" | "multi_label":
            model = build_classifier(encoder, 3)
        case "regression" | "reranking":
            model = build_regressor(encoder)
        case "token_classification":
            model = build_tagger(encoder, 3)
        case "question_answering":
            model = build_span_classifier(encoder)
        case "embedding" | "retrieval":
            model = keras.Model(encoder.input, build_embedder(encoder).output["embedding"])
    randomize(model, seed)
    # Large biases would make all texts alike, and their cosines nearly 1.
    for weight in model.trainable_weights:
        if weight.path.endswith(("bias", "beta")):
            weight.assign(0.1 * weight)
    return model


def run(objective, model, batch):
    """The sums as numbers, after asking whether `weights` told the loss's weight beforehand."""
    sums = {name: [float(part) for part in pair] for name, pair in objective(model, batch, training=False).items()}
    weights = {name: float(weight) for name, weight in objective.weights(batch).items()}
    assert weights == {"loss": sums["loss"][1]}
    return sums


def divergences(student, teacher, temperature):
    """T^2 KL(teacher || student) over the last axis."""
    ours, theirs = (log_softmax(logits.astype("float64") / temperature, axis=-1) for logits in (student, teacher))
    return temperature**2 * (np.exp(theirs) * (theirs - ours)).sum(axis=-1)


def random_outputs(*shape):
    """Those of a student, and those of a teacher."""
    return np.random.default_rng(0).normal(scale=2.0, size=(2, *shape)).astype("float32")
