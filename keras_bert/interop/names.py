"""What other libraries call our weights: one table, read in both directions.

Sources: `modeling.py`, `run_pretraining.py`, `run_classifier.py` and `run_squad.py` of google-research/bert, and
`models/bert/modeling_bert.py` of huggingface/transformers.
"""

import dataclasses
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["table", "norm", "dense", "output", "bias"]


class Part(NamedTuple):
    """A layer: where it stands in our models, what it holds, and what others call it; `{}` is a block's number."""

    ours: str
    kind: Kind
    hugging_face: str
    tf1: str


PARTS = (
    Part("token_embedding", "table", "bert.embeddings.word_embeddings", "bert/embeddings/word_embeddings"),
    Part("position_embedding", "table", "bert.embeddings.position_embeddings", "bert/embeddings/position_embeddings"),
    Part(
        "segment_embedding", "table", "bert.embeddings.token_type_embeddings", "bert/embeddings/token_type_embeddings"
    ),
    Part("embeddings_norm", "norm", "bert.embeddings.LayerNorm", "bert/embeddings/LayerNorm"),
    *(
        Part(f"block_{{}}/{ours}", kind, f"bert.encoder.layer.{{}}.{theirs}", f"bert/encoder/layer_{{}}/{google}")
        for ours, kind, theirs, google in (
            Part("attention/query", "dense", "attention.self.query", "attention/self/query"),
            Part("attention/key", "dense", "attention.self.key", "attention/self/key"),
            Part("attention/value", "dense", "attention.self.value", "attention/self/value"),
            Part("attention/output_projection", "dense", "attention.output.dense", "attention/output/dense"),
            Part("attention_norm", "norm", "attention.output.LayerNorm", "attention/output/LayerNorm"),
            Part("feed_forward/intermediate", "dense", "intermediate.dense", "intermediate/dense"),
            Part("feed_forward/output_projection", "dense", "output.dense", "output/dense"),
            Part("feed_forward_norm", "norm", "output.LayerNorm", "output/LayerNorm"),
        )
    ),
    Part("pooler/dense", "dense", "bert.pooler.dense", "bert/pooler/dense"),
    Part("masked_token_transform/dense", "dense", "cls.predictions.transform.dense", "cls/predictions/transform/dense"),
    Part(
        "masked_token_transform/norm",
        "norm",
        "cls.predictions.transform.LayerNorm",
        "cls/predictions/transform/LayerNorm",
    ),
    Part("masked_token_bias", "bias", "cls.predictions", "cls/predictions/"),
    Part("next_sentence", "output", "cls.seq_relationship", "cls/seq_relationship/"),
    # run_classifier.py has one head, without a scope, for whatever is read from the pooled output.
    Part("classifier", "output", "classifier", ""),
    Part("regressor", "output", "classifier", ""),
    Part("span_classifier", "output", "qa_outputs", "cls/squad/"),
)

# Google's code has no head for tokens; this name is ours, made like that of run_squad.py.
TF1_TAGGER = Part("classifier", "output", "classifier", "cls/token_classification/")


class Foreign(NamedTuple):
    """A tensor of a foreign file: its name, and whether its axes stand the other way round."""

    name: str
    transposed: bool = False


@dataclasses.dataclass(frozen=True)
class Format:
    """How a library names what a layer holds.

    Attributes:
        title: of the library.
        column: of `Part`.
        suffixes: for each kind of layer, our weight -> its ending and whether it is transposed.
    """

    title: str
    column: Literal["hugging_face", "tf1"]
    suffixes: dict[Kind, dict[str, Foreign]]

    def names(self, paths: Iterable[str], replaced: Iterable[Part] = ()) -> dict[str, Foreign]:
        """The foreign tensor of each of our weights, by the weight's path.

        Args:
            paths: of a model's weights, as `block_0/attention/query/kernel`.
            replaced: parts that stand for those of the table with the same place in our models.

        Raises:
            ValueError: the format has no name for a weight.
        """
        parts = {part.ours: part for part in (*PARTS, *replaced)}
        found = {}
        for path in paths:
            layer, _, weight = path.rpartition("/")
            block = re.match(r"block_(\d+)/", layer)
            part = parts.get(layer if block is None else layer.replace(block[0], "block_{}/", 1))
            if part is None or weight not in self.suffixes[part.kind]:
                raise ValueError(f"{self.title} has no name for the weight {path!r}")
            suffix = self.suffixes[part.kind][weight]
            stem: str = getattr(part, self.column)
            found[path] = Foreign((stem if block is None else stem.format(block[1])) + suffix.name, suffix.transposed)
        return found


# PyTorch's Linear keeps its kernel as (outputs, inputs).
_LINEAR = {"kernel": Foreign(".weight", transposed=True), "bias": Foreign(".bias")}

HUGGING_FACE = Format(
    "Hugging Face",
    "hugging_face",
    {
        "table": {"embeddings": Foreign(".weight")},
        "norm": {"gamma": Foreign(".weight"), "beta": Foreign(".bias")},
        "dense": _LINEAR,
        "output": _LINEAR,
        "bias": {"bias": Foreign(".bias")},
    },
)

# The heads' own matrices are (outputs, inputs), used with `transpose_b`.
TF1 = Format(
    "google-research/bert",
    "tf1",
    {
        "table": {"embeddings": Foreign("")},
        "norm": {"gamma": Foreign("/gamma"), "beta": Foreign("/beta")},
        "dense": {"kernel": Foreign("/kernel"), "bias": Foreign("/bias")},
        "output": {"kernel": Foreign("output_weights", transposed=True), "bias": Foreign("output_bias")},
        "bias": {"bias": Foreign("output_bias")},
    },
)

# Hugging Face's copies of other tensors: ours to leave out, and to compare where a file holds them.
HUGGING_FACE_COPIES = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
# Numbers from 0 on, and zeros, that old versions kept among the weights.
HUGGING_FACE_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")
HUGGING_FACE_NEXT_SENTENCE = "cls.seq_relationship.weight"
HUGGING_FACE_PREFIX = "bert."
_HUGGING_FACE_ROOTS = ("embeddings.", "encoder.", "pooler.")


def hugging_face_name(name: str) -> str:
    """The present name of a tensor whose file may be old, or hold an encoder alone."""
    name = re.sub(r"\bLayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"\bLayerNorm\.beta$", "LayerNorm.bias", name)
    return HUGGING_FACE_PREFIX + name if name.startswith(_HUGGING_FACE_ROOTS) else name


def is_training_state(name: str) -> bool:
    """Whether a variable of a TF1 checkpoint is the optimizer's: `optimization.py` keeps two of each weight."""
    return name == "global_step" or name.endswith(("/adam_m", "/adam_v"))
