"""The names of our weights in other libraries: one table for reading and writing.

Google's names are those of `modeling.py`, `run_pretraining.py`, `run_classifier.py` and `run_squad.py` of
google-research/bert. The names of Hugging Face stand in the packages of the families.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from keras_bert.families.hugging_face import Family

Kind = Literal["table", "norm", "dense", "output", "bias", "columns", "convolution"]


# Our layers that google-research/bert has, or whose kind does not follow from the names of their weights: the kind, and
# Google's name, if there is one; `{}` is the number of a block.
_LAYERS: tuple[tuple[str, Kind, str | None], ...] = (
    ("token_embedding", "table", "bert/embeddings/word_embeddings"),
    ("position_embedding", "table", "bert/embeddings/position_embeddings"),
    ("segment_embedding", "table", "bert/embeddings/token_type_embeddings"),
    ("embeddings_norm", "norm", "bert/embeddings/LayerNorm"),
    ("convolution/dense", "convolution", None),
    ("block_{}/attention/query", "dense", "bert/encoder/layer_{}/attention/self/query"),
    ("block_{}/attention/key", "dense", "bert/encoder/layer_{}/attention/self/key"),
    ("block_{}/attention/value", "dense", "bert/encoder/layer_{}/attention/self/value"),
    ("block_{}/attention/output_projection", "dense", "bert/encoder/layer_{}/attention/output/dense"),
    ("block_{}/attention_norm", "norm", "bert/encoder/layer_{}/attention/output/LayerNorm"),
    ("block_{}/feed_forward/intermediate", "dense", "bert/encoder/layer_{}/intermediate/dense"),
    ("block_{}/feed_forward/output_projection", "dense", "bert/encoder/layer_{}/output/dense"),
    ("block_{}/feed_forward_norm", "norm", "bert/encoder/layer_{}/output/LayerNorm"),
    ("pooler/dense", "dense", "bert/pooler/dense"),
    ("masked_token_transform/dense", "dense", "cls/predictions/transform/dense"),
    ("masked_token_transform/norm", "norm", "cls/predictions/transform/LayerNorm"),
    ("masked_token_columns", "columns", None),
    ("masked_token_bias", "bias", "cls/predictions/"),
    ("next_sentence", "output", "cls/seq_relationship/"),
    # The head on the pooled output; in run_classifier.py it has no scope.
    ("classifier", "output", ""),
    ("regressor", "output", ""),
    ("span_classifier", "output", "cls/squad/"),
)
_KINDS: dict[str, Kind] = {layer: kind for layer, kind, _ in _LAYERS}
_KINDS_BY_WEIGHT: dict[str, Kind] = {
    "embeddings": "table",
    "gamma": "norm",
    "beta": "norm",
    "kernel": "dense",
    "bias": "dense",
}


# The number of a block, or of a part of which a block has several.
_NUMBER = re.compile(r"(?<=block_)\d+|(?<=feed_forward_)\d+|(?<=projections/dense_)\d+")


class Foreign(NamedTuple):
    """A tensor in another library.

    Attributes:
        transposed: its axes are reversed.
        windowed: the tokens of a convolution's window are an axis. In our kernel, the rows of the first token are
            followed by those of the second, and so on; inputs and outputs have the same width.
    """

    name: str
    transposed: bool = False
    windowed: bool = False


@dataclasses.dataclass(frozen=True)
class TensorNames:
    """The names of a library's tensors.

    Attributes:
        stems: our layer -> the beginning of its tensors' names; each `{}` is a number, the first that of a block.
        suffixes: kind of layer -> our weight -> the ending of the name and whether the tensor is transposed.
    """

    title: str
    stems: Mapping[str, str]
    suffixes: Mapping[Kind, Mapping[str, Foreign]]

    def names(self, paths: Iterable[str]) -> dict[str, Foreign]:
        """Path of our weight, as `block_0/attention/query/kernel` -> the tensor in the library."""
        names = {}
        for path in paths:
            layer, _, weight = path.rpartition("/")
            numbers, place = _NUMBER.findall(layer), _NUMBER.sub("{}", layer)
            kind = _KINDS.get(place) or _KINDS_BY_WEIGHT.get(weight, "output")
            if place not in self.stems or weight not in self.suffixes[kind]:
                raise ValueError(f"{self.title} has no name for the weight {path!r}")
            suffix = self.suffixes[kind][weight]
            names[path] = suffix._replace(name=self.stems[place].format(*numbers) + suffix.name)
        return names


# The tensors of the dense modules of sentence-transformers, each of which has a file of its own.
PROJECTION = "projections."

# PyTorch's Linear keeps its kernel as (outputs, inputs).
_LINEAR = {"kernel": Foreign(".weight", transposed=True), "bias": Foreign(".bias")}

HUGGING_FACE_SUFFIXES: Mapping[Kind, Mapping[str, Foreign]] = {
    "table": {"embeddings": Foreign(".weight")},
    "columns": {"embeddings": Foreign(".weight", transposed=True)},
    "norm": {"gamma": Foreign(".weight"), "beta": Foreign(".bias")},
    "dense": _LINEAR,
    "output": _LINEAR,
    "bias": {"bias": Foreign(".bias")},
    "convolution": {"kernel": Foreign(".weight", transposed=True, windowed=True), "bias": Foreign(".bias")},
}


def hugging_face_format(family: Family, task: str) -> TensorNames:
    """The names of the tensors in a checkpoint of transformers for a task, and in the folders of its dense modules."""
    stems = {**family.stems(task), "projections/dense_{}": f"{PROJECTION}{{}}.linear"}
    return TensorNames(f"Hugging Face's {family.title}", stems, HUGGING_FACE_SUFFIXES)


def present_names(names: Iterable[str], family: Family, source: str) -> dict[str, str]:
    """The present names of tensors in transformers -> their names in a file, which may be those of old versions.

    `source` is the owner of the tensors, for messages.
    """
    roots = {stem.partition(".")[0] for stem in family.encoder.values()}
    names_in_file: dict[str, str] = {}
    for name in names:
        # DataParallel, `torch.compile` and trainers wrap the model as a part of theirs.
        plain = re.sub(r"^((module|_orig_mod)\.)+", "", name)
        if family.prefix != "model." or plain.startswith("model.model."):
            plain = plain.removeprefix("model.")
        old_start = next((start for start in family.other_names if plain.startswith(start)), "")
        present = family.other_names.get(old_start, "") + plain.removeprefix(old_start)
        present = re.sub(r"\bLayerNorm\.gamma$", "LayerNorm.weight", present)
        present = re.sub(r"\bLayerNorm\.beta$", "LayerNorm.bias", present)
        if present.partition(".")[0] in roots:  # the file holds an encoder without a head
            present = family.prefix + present
        if present in names_in_file:
            raise ValueError(f"{source} holds {present!r} twice, once by an old name")
        names_in_file[present] = name
    return names_in_file


# The heads' own matrices are (outputs, inputs), used with `transpose_b`.
TF1 = TensorNames(
    "google-research/bert",
    {layer: theirs for layer, _, theirs in _LAYERS if theirs is not None},
    {
        "table": {"embeddings": Foreign("")},
        "norm": {"gamma": Foreign("/gamma"), "beta": Foreign("/beta")},
        "dense": {"kernel": Foreign("/kernel"), "bias": Foreign("/bias")},
        "output": {"kernel": Foreign("output_weights", transposed=True), "bias": Foreign("output_bias")},
        "bias": {"bias": Foreign("output_bias")},
    },
)

# Google's code has no head for tokens; we named it as run_squad.py names its head.
TF1_TAGGER = dataclasses.replace(TF1, stems={**TF1.stems, "classifier": "cls/token_classification/"})
