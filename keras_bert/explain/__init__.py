"""Looking inside models: attention and attribution for every family, and for exported files.

Functions raise TypeError if a text or word is not a string, and ValueError if there are no texts or not as many second
texts or tags.
"""

from keras_bert.data.conllu import TreebankSentence, read_conllu
from keras_bert.explain.ablation import HeadAblation, leave_one_head_out
from keras_bert.explain.agreement import Agreement, compare
from keras_bert.explain.attention import Attention, attentions, rollout
from keras_bert.explain.attribution import Attribution, attributions
from keras_bert.explain.heads import HeadStatistics, head_statistics
from keras_bert.explain.occlusion import deletion_curve
from keras_bert.explain.probe import Probes, probe
from keras_bert.explain.show import Page, show
from keras_bert.explain.structural_probe import StructuralProbes, structural_probe
from keras_bert.explain.tokens import Tokens
from keras_bert.explain.word_states import WordStates, word_states

__all__ = [
    "Agreement",
    "Attention",
    "Attribution",
    "HeadAblation",
    "HeadStatistics",
    "Page",
    "Probes",
    "StructuralProbes",
    "Tokens",
    "TreebankSentence",
    "WordStates",
    "attentions",
    "attributions",
    "compare",
    "deletion_curve",
    "head_statistics",
    "leave_one_head_out",
    "probe",
    "read_conllu",
    "rollout",
    "show",
    "structural_probe",
    "word_states",
]
