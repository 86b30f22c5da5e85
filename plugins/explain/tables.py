"""The reasons of a job's models beside their teacher's, their attention heads, and what their layers know: tables."""

from collections import Counter
from collections.abc import Sequence

from pipeline.views.tables import Table
from plugins.explain.artifacts import ExplanationReport, HeadReport, ProbeReport

_HEADINGS = ("model", "same answer, %", "rank correlation", "attention distance")
_HEAD_HEADINGS = ("model", "heads", "kinds", "most needed: layer.head, rise of the loss without it")
_PROBE_HEADINGS = ("model", "layer", "accuracy, %", "selectivity", "tree edges found, %")

# Heads of each model that are listed by the rise of the loss.
_LISTED_HEADS = 3


def agreement_tables(report: ExplanationReport) -> list[Table]:
    """The table of models, the table of their heads, and the table of their probes if there are some."""
    # A row for each model beside its teacher.
    rows = [
        [
            agreement.model,
            "" if agreement.same_answers is None else f"{100 * agreement.same_answers:.1f}",
            "" if agreement.rank_correlation is None else f"{agreement.rank_correlation:.2f}",
            ", ".join(f"{distance:.2f}" for distance in agreement.attention_distances or ()),
        ]
        for agreement in report.agreements
    ]
    notes = [
        f"on {report.rows} validation rows, beside the teacher; words get their shares in the answer by occlusion",
        "rank correlation: the median over rows of Spearman's correlation of the words' shares; 1 for the same order",
    ]
    for agreement in report.agreements:
        for reason, count in agreement.left_out.items():
            notes.append(f"{agreement.model}: {count} of the rows cannot be explained and are left out: {reason}")
        if agreement.layers is not None:
            layers = ", ".join(map(str, agreement.layers))
            notes.append(f"attention distance of {agreement.model}: from 0 to 1, beside layers {layers} of the teacher")
    probes = [_probe_table(report.probes)] if report.probes else []
    return [Table(_HEADINGS, rows, notes), _head_table(report.heads), *probes]


def _head_table(heads: Sequence[HeadReport]) -> Table:
    """A row for each model: the number of heads, how many are of each kind, and those that the loss needs most."""
    rows = []
    for model in heads:
        counts = Counter(kind for layer in model.kinds for kind in layer)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        rises = sorted(
            ((rise, layer, head) for layer, row in enumerate(model.loss_rises) for head, rise in enumerate(row)),
            key=lambda place: -place[0],
        )
        needed = ", ".join(f"{layer}.{head} {rise:+.3f}" for rise, layer, head in rises[:_LISTED_HEADS])
        rows.append([model.model, str(counts.total()), kinds, needed])
    return Table(_HEAD_HEADINGS, rows, justify="left")


def _probe_table(probes: Sequence[ProbeReport]) -> Table:
    """A row for each layer of each model, the embeddings first."""
    rows = []
    for model in probes:
        edges = model.trees.attachment_scores if model.trees else [None] * len(model.accuracies)
        for layer, figures in enumerate(zip(model.accuracies, model.selectivities, edges, strict=True)):
            cells = ["" if share is None else f"{100 * share:.1f}" for share in figures]
            rows.append([model.model, str(layer) if layer else "embeddings", *cells])
    first = probes[0]
    notes = [
        f"linear probes of {first.tags} tags, learnt from {first.train_words} words, measured on {first.test_words}; "
        f"the most frequent tag has {100 * first.majority_accuracy:.1f} %",
        "selectivity: the accuracy less that of random tags, which a probe can only learn by heart",
    ]
    for model in probes:
        mix = f"the mean of all layers has {100 * model.mix_accuracy:.1f} %, its center is layer"
        notes.append(f"{model.model}: {mix} {model.center_of_gravity:.1f}")
    if first.trees:
        notes.append(f"edges between neighbours are {100 * first.trees.chain_attachment_score:.1f} % of all edges")
    return Table(_PROBE_HEADINGS, rows, notes)
