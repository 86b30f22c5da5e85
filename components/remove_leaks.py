"""Corpus -> Corpus without the sentences that are texts of validation or test rows."""

import json
import logging

from components.artifacts.standard import Corpus, LabelledRows
from components.beam.engine import BeamOptions
from components.corpus.shards import CUT_DOCUMENTS, read_cut_documents, write_cut_documents
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import InputError
from components.examples.overlap import HELD_OUT, SETTINGS
from components.examples.registry import TASK_ROWS, read_labelled_rows

logger = logging.getLogger(__name__)


@component(libraries=("apache-beam", "numpy", "scipy", "sentencex"))
def remove_leaks(
    corpus: Input[Corpus], rows: Input[LabelledRows], cleaned: Output[Corpus], beam: Local[BeamOptions] = BeamOptions()
) -> None:
    """Removes the sentences of a corpus that are texts of validation or test rows.

    The source of the rows says which ones: with `overlap = "drop"` those that are equal, with `near_overlap = "drop"`
    those that are nearly so. A document that is left without sentences is removed.

    Raises:
        InputError: nothing of the corpus is left.
    """
    from components.examples.corpus_leaks import scan_corpus
    from components.examples.held_out_texts import list_held_out_texts

    source = rows.read()
    removed = tuple(relation for relation, setting in SETTINGS.items() if getattr(source, setting) == "drop")
    held_out = {split: read_labelled_rows(rows, split) for split in HELD_OUT}
    texts = list_held_out_texts(held_out, TASK_ROWS[source.task])
    rest = scan_corpus(corpus, texts, near="near" in removed, folder=cleaned.path, beam=beam, removed=removed)
    if not rest.documents:
        raise InputError(
            "the corpus must hold a sentence that no validation or test row has, got none; add other texts"
        )
    manifest = corpus.manifest()["counts"]
    shards = len(list(cleaned.path.glob("corpus-*.jsonl.gz")))
    counts = {"bytes": rest.bytes, "sentences": rest.sentences, "shards": shards}
    statistics = corpus.read_json("statistics.json")
    statistics["documents"]["kept"] = rest.documents
    statistics["text"] |= counts
    statistics["texts of validation and test rows"] = {
        "sentences removed": rest.removed,
        "documents removed": manifest["documents"] - rest.documents,
    }
    cleaned.file("statistics.json").write_text(json.dumps(statistics, indent=1) + "\n")
    parts = ((whole, count - rest.emptied_parts[whole]) for whole, count in read_cut_documents(corpus))
    write_cut_documents(cleaned.file(CUT_DOCUMENTS), (pair for pair in parts if pair[1]))
    cleaned.counts = {"documents": rest.documents, "removed_sentences": rest.removed, **counts}
    logger.info("%d sentences that are texts of validation or test rows removed from the corpus", rest.removed)
