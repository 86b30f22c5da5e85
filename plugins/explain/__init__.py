"""Looking inside models: attention and attribution for every family, and for exported files.

Each name is imported at its first use: the command line imports this package, but neither TensorFlow nor Keras.
Functions raise TypeError if a text or word is not a string, and ValueError if there are no texts or not as many second
texts or tags.
"""

import importlib
from typing import Any

_HOMES = {
    "Agreement": "plugins.explain.agreement",
    "Attention": "plugins.explain.attention",
    "Attribution": "plugins.explain.attribution",
    "HeadAblation": "plugins.explain.ablation",
    "HeadStatistics": "plugins.explain.heads",
    "Page": "plugins.explain.html_page",
    "Probes": "plugins.explain.probes",
    "StructuralProbes": "plugins.explain.structural_probes",
    "Tokens": "plugins.explain.tokens",
    "TreebankSentence": "keras_bert.data.conllu",
    "WordStates": "plugins.explain.states",
    "attentions": "plugins.explain.attention",
    "attributions": "plugins.explain.attribution",
    "compare": "plugins.explain.agreement",
    "deletion_curve": "plugins.explain.occlusion",
    "head_statistics": "plugins.explain.heads",
    "leave_one_head_out": "plugins.explain.ablation",
    "probe": "plugins.explain.probes",
    "read_conllu": "plugins.explain.treebanks",
    "rollout": "plugins.explain.attention",
    "show": "plugins.explain.html_page",
    "structural_probe": "plugins.explain.structural_probes",
    "word_states": "plugins.explain.states",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
