"""The agreement, the attention heads and the probes of a model, as the report has them."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.splits import split_rows
from components.sources.tagged_words import Sentence, SentenceSource
from keras_bert.data.conllu import TreebankSentence
from plugins.explain.artifacts import HeadReport, ModelAgreement, ProbeReport, TreeProbeReport

if TYPE_CHECKING:
    from keras_bert.objectives.base import Batch
    from keras_bert.tasks.base import Task
    from plugins.explain.agreement import Agreement

# Rows of each model whose words are listed.
_LISTED = 5

# The rows are read once for each head: of 72 heads, 128 rows take as long as 9,000.
_ABLATION_BATCHES = 2

# More training words hardly change a linear classifier on a few hundred features; a fit takes seconds a layer.
MOST_TRAINING, MOST_TEST = 2000, 1000


def describe_agreement(
    name: str, agreement: "Agreement", texts: Sequence[str], seconds: Sequence[str] | None
) -> ModelAgreement:
    """The figures of an agreement, and the rows whose words are ranked most differently."""
    import numpy as np

    correlations = agreement.rank_correlations[~np.isnan(agreement.rank_correlations)]
    distances = agreement.attention_distances
    different = []
    for place in agreement.most_different(_LISTED):
        row, teacher, model = int(agreement.rows[place]), agreement.teacher[place], agreement.student[place]
        words, model_words = teacher.row.common_words(model.row)
        content: dict[str, Any] = {
            "text": texts[row],
            "second_text": None if seconds is None else seconds[row],
            "target": teacher.target,
            "words": [teacher.row.word_texts[word] for word in words],
            "teacher": teacher.by_word()[words].round(4).tolist(),
            "model": model.by_word()[model_words].round(4).tolist(),
        }
        different.append(content)
    return ModelAgreement(
        name,
        None if agreement.same_answers is None else float(agreement.same_answers.mean()),
        float(np.median(correlations)) if len(correlations) else None,
        len(correlations),
        agreement.layers,
        None if distances is None else distances.round(4).tolist(),
        different,
        dict(Counter(agreement.left_out.values())),
    )


def describe_heads(
    name: str, task: "Task", texts: Sequence[str], seconds: Sequence[str] | None, batches: "Sequence[Batch]"
) -> HeadReport:
    """Statistics of the heads of a model, and its loss without each of them.

    `batches` are labelled rows for the loss; only the first ones are read without each head.
    """
    import numpy as np

    from keras_bert.compress.importance import measure_importance
    from keras_bert.models.encoder import config_of
    from keras_bert.options.compression import has_prunable_blocks
    from plugins.explain.ablation import leave_one_head_out
    from plugins.explain.heads import head_statistics

    pairs = None if task.second_text == "compared" else seconds
    statistics = head_statistics(task, texts, pairs)
    assert statistics.positions is not None
    network, importance = task.network(), None
    if has_prunable_blocks(config_of(network)):
        importance = [block.heads.round(6).tolist() for block in measure_importance(network, task.objective(), batches)]
    return HeadReport(
        name,
        statistics.kind.tolist(),
        statistics.entropy.round(4).tolist(),
        np.round(-leave_one_head_out(task, batches[:_ABLATION_BATCHES]).drops, 6).tolist(),
        importance,
        statistics.positions.round(4).tolist(),
    )


class ProbeSentences(NamedTuple):
    """Training sentences of probes, and others by which the probes are measured."""

    train: Sequence[TreebankSentence]
    test: Sequence[TreebankSentence]

    def tagged(self) -> list[tuple[list[tuple[str, ...]], list[tuple[str, ...]]]]:
        """The words and the tags of both parts, as `plugins.explain.probes` takes them.

        Test sentences with a tag that no training sentence has are left out: no probe can know it.
        """
        trained = {tag for sentence in self.train for tag in sentence.tags}
        measurable = [sentence for sentence in self.test if trained.issuperset(sentence.tags)]
        return [
            ([sentence.words for sentence in part], [sentence.tags for sentence in part])
            for part in (self.train, measurable)
        ]

    def parsed(self) -> list[tuple[list[tuple[str, ...]], list[tuple[int, ...]]]] | None:
        """The words and the heads of the sentences with a tree; None if a part has no tree."""
        parts = [[sentence for sentence in part if sentence.heads] for part in self]
        if not all(any(len(sentence.heads) > 1 for sentence in part) for part in parts):
            return None
        return [([sentence.words for sentence in part], [sentence.heads for sentence in part]) for part in parts]


def read_probe_sentences(source: SentenceSource) -> ProbeSentences:
    """Reads the sentences of a source. Probes are measured on `test`, else on `validation`, else on a tenth."""
    read = source.splits()
    splits = {
        split: [
            TreebankSentence(sentence.words, sentence.tags, tree)
            for sentence, tree in zip(sentences, read.heads[split], strict=True)
        ]
        for split, sentences in read.items()
    }
    held_out = splits.get("test") or splits.get("validation")
    if held_out is None:
        splits = split_rows(
            splits["train"], ["test"], key=lambda sentence: (" ".join(sentence.words),), plural_name="sentences"
        )
        held_out = splits["test"]
    return hold_sentences(splits["train"], held_out)


def hold_sentences(
    train: Sequence[Sentence | TreebankSentence], test: Sequence[Sentence | TreebankSentence]
) -> ProbeSentences:
    """The first sentences of both parts, as many as probes need; sentences of examples have no trees."""
    first, second = (
        [TreebankSentence(row.words, row.tags, getattr(row, "heads", ())) for row in rows]
        for rows in (train[:MOST_TRAINING], test[:MOST_TEST])
    )
    sentences = ProbeSentences(first, second)
    tags = sorted({tag for sentence in sentences.train for tag in sentence.tags})
    if len(tags) < 2:
        raise InputError(
            f"probes must have at least two different tags in the first {MOST_TRAINING} training sentences, got {tags}"
        )
    if not sentences.tagged()[1][0]:
        raise InputError("probes must have a test sentence whose tags all occur in training sentences, got none")
    return sentences


def describe_probes(name: str, task: "Task", sentences: ProbeSentences) -> ProbeReport:
    """Probes of the tags of words, and of their dependency trees where the sentences have some."""
    from plugins.explain.probes import probe
    from plugins.explain.structural_probes import structural_probe

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
