"""The families by name: the settings of their graphs, and the formats of transformers' checkpoints."""

import functools
import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import pydantic

from keras_bert.core.checks import nearest_name
from keras_bert.core.config import EncoderConfig, Variant
from keras_bert.core.plugins import find_plugins
from keras_bert.families.bert.hugging_face import FAMILIES as BERT_FAMILIES
from keras_bert.families.bigbird.hugging_face import FAMILIES as BIGBIRD
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.hugging_face import FAMILIES as DEBERTA
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.hugging_face import FAMILIES as GATED
from keras_bert.families.gated.settings import Gated
from keras_bert.families.hugging_face import KEYS, Family
from keras_bert.families.longformer.hugging_face import FAMILIES as LONGFORMER
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.hugging_face import FAMILIES as MOBILEBERT
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.hugging_face import FAMILIES as MODERNBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.hugging_face import FAMILIES as MPNET
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.hugging_face import FAMILIES as PRE_NORM
from keras_bert.families.pre_norm.settings import PreNorm

# The settings of each graph that is not BERT's; `kind` names the graph.
if TYPE_CHECKING:
    AnyVariant = Variant
else:
    _VARIANTS = (BigBird, DeBERTa, Gated, Longformer, MobileBERT, ModernBERT, MPNet, PreNorm)
    _VARIANTS += tuple(plugin.load() for plugin in find_plugins("families").values())
    AnyVariant = Annotated[functools.reduce(operator.or_, _VARIANTS), pydantic.Field(discriminator="kind")]

# The checkpoint formats by `model_type`. The order matters: a model is written as the first family that matches it.
FAMILIES: dict[str, Family] = {
    family.name: family
    for families in (
        *(BERT_FAMILIES, MOBILEBERT, DEBERTA, MODERNBERT, LONGFORMER, BIGBIRD, MPNET, PRE_NORM, GATED),
        *(plugin.load() for plugin in find_plugins("family_formats").values()),
    )
    for family in families
}


# Models that people try to read -> why they are none of the families, and what to do.
_OTHER_GRAPH = "its graph is none of this library's; use an encoder of another family, or its outputs as soft labels"
_DECODER = "it is a decoder, whose tokens do not attend to later ones; use an encoder, or its outputs as soft labels"
_NOT_READ = {
    **dict.fromkeys(("canine", "convbert", "eurobert", "fnet", "funnel", "luke", "neobert", "xlnet"), _OTHER_GRAPH),
    **dict.fromkeys(
        ("gemma", "gemma2", "gemma3", "gemma3_text", "gpt2", "llama", "mistral", "qwen2", "qwen3"), _DECODER
    ),
    "gliner": "it finds entities by their names; fine-tune an encoder for token classification instead",
}


def find_family_of(content: Mapping[str, Any], where: str) -> Family:
    """The family of the content of a `config.json`, see `find_family`."""
    if content.get("model_type") is None and set(KEYS.values()) - {"layer_norm_eps"} <= content.keys():
        return FAMILIES["bert"]  # files before transformers 2
    marked = [family for family in FAMILIES.values() if family.marks and family.marks.items() <= content.items()]
    if content.get("use_bidirectional_attention") and not marked:
        raise ValueError(f"{where}: model_type {content.get('model_type')!r} is not supported: {_OTHER_GRAPH}")
    return marked[0] if marked else find_family(content.get("model_type"), where)


def find_family(name: Any, where: str) -> Family:
    """The family of a `model_type`.

    `where` is the file or setting with the name, for the message.

    Examples:
        >>> find_family("xlm-roberta", "config.json").title
        'XLMRoberta'
    """
    for family in FAMILIES.values():
        if name in (family.name, *family.other_types):
            return family
    if isinstance(name, str) and name in _NOT_READ:
        raise ValueError(f"{where}: model_type {name!r} is not supported: {_NOT_READ[name]}")
    # Names of other families are alike: 'ibert' is no misspelt 'bert'.
    hint = nearest_name(str(name), FAMILIES, similarity=0.9)
    raise ValueError(f"{where}: model_type must be a family of docs/families.md, got {name!r}{hint}")


def family_of(config: EncoderConfig, name: str | None, *, pooler: bool) -> Family:
    """The family in which an encoder's checkpoint is written.

    `name` is a `model_type`; None for the first family that matches. A layer in the place of the pooler counts as one.

    Examples:
        >>> config = EncoderConfig(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=20)
        >>> family_of(config, None, pooler=True).name
        'bert'
    """
    if name is not None:
        family = find_family(name, "family")
        misfit = family.misfit(config, pooler=pooler)
        if misfit is not None:
            raise ValueError(f"family {name!r} does not fit: {misfit}")
        return family
    misfits = {family.name: family.misfit(config, pooler=pooler) for family in FAMILIES.values()}
    fitting = next((name for name, misfit in misfits.items() if misfit is None), None)
    if fitting is None:
        raise ValueError(f"the encoder is of no family that Hugging Face has: {misfits}")
    return FAMILIES[fitting]
