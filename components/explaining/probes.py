"""What the layers of a model know about words: linear probes of tags, structural probes of trees."""

from typing import TYPE_CHECKING

from components.artifacts.measurements import ProbeReport, TreeProbeReport
from components.examples.probe_sentences import ProbeSentences

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def describe_probes(name: str, task: "Task", sentences: ProbeSentences) -> ProbeReport:
    """Probes of the tags of words, and of their dependency trees where the sentences have some."""
    from keras_bert.explain import probe, structural_probe

    train, test = sentences.tagged()
    probes = probe(task, train, test)
    trees = None
    if (parsed := sentences.parsed()) is not None:
        structural = structural_probe(task, *parsed)
        trees = TreeProbeReport(
            structural.attachment_scores.round(4).tolist(), round(structural.chain_attachment_score, 4)
        )
    return ProbeReport(
        name,
        sum(map(len, train[0])),
        sum(map(len, test[0])),
        len(probes.tags),
        probes.accuracy.round(4).tolist(),
        probes.selectivity.round(4).tolist(),
        round(probes.majority_accuracy, 4),
        round(probes.mix_accuracy, 4),
        round(float(probes.mix.center_of_gravity), 3),
        trees,
    )
