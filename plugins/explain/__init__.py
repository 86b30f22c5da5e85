"""Looking inside models: attention and attribution for every family, and for exported files.

Each name is imported at its first use: the command line imports this package, but neither TensorFlow nor Keras.
Functions raise TypeError if a text or word is not a string, and ValueError if there are no texts or not as many second
texts or tags.
"""

import importlib
from typing import Any

_NAMES = {
    "keras_bert.data.conllu": ("TreebankSentence",),
    "plugins.explain.ablation": ("HeadAblation", "leave_one_head_out"),
    "plugins.explain.agreement": ("Agreement", "compare"),
    "plugins.explain.attention": ("Attention", "attentions", "rollout"),
    "plugins.explain.attribution": ("Attribution", "attributions"),
    "plugins.explain.heads": ("HeadStatistics", "head_statistics"),
    "plugins.explain.html_page": ("Page", "show"),
    "plugins.explain.occlusion": ("deletion_curve",),
    "plugins.explain.probes": ("Probes", "probe"),
    "plugins.explain.states": ("WordStates", "word_states"),
    "plugins.explain.structural_probes": ("StructuralProbes", "structural_probe"),
    "plugins.explain.tokens": ("Tokens",),
    "plugins.explain.treebanks": ("read_conllu",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
