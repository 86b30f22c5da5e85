"""First step: a source of text -> Corpus, cleaned and without duplicates, made with Beam."""

import json
import tempfile
from pathlib import Path

from components.artifacts.corpus import Corpus
from components.beam.engine import BeamOptions, choose_scale, run_over
from components.corpus.cleaning import Cleaning
from components.corpus.shards import CUT_DOCUMENTS
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Local, Output
from components.dsl.workplace import report_progress
from components.sources.docstrings import DocstringCorpus
from components.sources.text import TextSource

# Of a small corpus; from 64 MB on, shards grow to four times as much (`corpus_plan.shard_size`).
SHARD_BYTES = 1_000_000


@component(libraries=("apache-beam", "datasketch", "numpy", "sentencex"))
def ingest_corpus(
    corpus: Output[Corpus],
    source: TextSource | DocstringCorpus,
    cleaning: Cleaning = Cleaning(),
    beam: Local[BeamOptions] = BeamOptions(),
) -> None:
    """Reads a source of text into gzip shards of JSON lines, `{"id": ..., "text": ..., "sentences": [...]}`.

    `sentences` are the numbers of characters that each takes in the text, see `measure_sentences`. The id is the one
    that the source names, else the hash of the text. Documents stand in the order of the hashes of their ids:
    neighbours come from anywhere in the source, and the bytes depend neither on how folders are listed nor on the
    engine. Documents of more than 64 KiB are cut; `whole` in the line of a part is the same for all parts of a
    document, and `cut_documents.json` says how many there are of each.

    What is left out goes to `dropped-*.jsonl.gz`, with id, source, reason, detail and text, and is counted in
    `statistics.json`.

    Args:
        corpus: the output.
        source: of the documents.
        cleaning: what is left out.
        beam: the engine.

    Raises:
        InputError: the source is missing or cannot be read, two documents have the same id, or none is left.
    """
    from components.corpus.transforms import PLAN, Job, build, find_units

    report_progress(0, 1, "reading")
    units = find_units(source)
    size = sum(source.size(unit.file) for unit in units)
    with tempfile.TemporaryDirectory(dir=corpus.path) as scratch:
        scale = choose_scale(beam, size, threaded=True)
        job = Job(source, cleaning, str(corpus.path), scratch, SHARD_BYTES, scale)
        counters = run_over(units, lambda work: build(work, job), beam, scale=scale)
        plan = json.loads((Path(scratch) / PLAN).read_text())
    if "problem" in plan:
        raise InputError(plan["problem"])
    statistics = plan["statistics"]
    corpus.file("statistics.json").write_text(json.dumps(statistics, indent=1) + "\n")
    if plan["cut_documents"]:
        corpus.file(CUT_DOCUMENTS).write_text(json.dumps(plan["cut_documents"], indent=1) + "\n")
    corpus.counts = {
        "documents": statistics["documents"]["kept"],
        "dropped": statistics["dropped"],
        **{name: statistics["text"][name] for name in ("shards", "bytes", "sentences")},
        # Not in the statistics, which are part of the content: the same content is never made in the same time.
        "seconds": {name[:-3]: value / 1000 for name, value in sorted(counters.items()) if name.endswith(" ms")},
    }
