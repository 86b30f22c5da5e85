"""A source of text -> Corpus, cleaned and deduplicated with Beam."""

import json
import shutil
import tempfile
from pathlib import Path

from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions, choose_scale, run_over
from components.corpus.cleaning import Cleaning
from components.corpus.shards import CUT_DOCUMENTS
from components.dsl.component import Local, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.sources.docstrings import DocstringCorpus
from components.sources.text import TextSource

# The size of a shard of a small corpus; from 64 MB on, shards grow to four times as much
# (`components.corpus.plan.shard_size`).
SHARD_BYTES = 1_000_000


@component(libraries=("apache-beam", "numpy", "scipy", "sentencex"))
def ingest_corpus(
    corpus: Output[Corpus],
    source: TextSource | DocstringCorpus,
    cleaning: Cleaning = Cleaning(),
    beam: Local[BeamOptions] = BeamOptions(),
) -> None:
    """Reads a source of text into gzip shards of JSON lines, `{"id": ..., "text": ..., "sentences": [...]}`.

    `sentences` holds the length of each sentence in characters, see `measure_sentences`. The id comes from the source,
    else it is the hash of the text. Documents are sorted by the hashes of their ids, so that neighbours come from
    anywhere in the source, and the bytes depend neither on the order of a folder's files nor on the engine. Documents
    of more than 64 KiB are cut; all parts of a document have the same `whole`, and `cut_documents.json` counts them.

    Dropped documents go to `dropped-*.jsonl.gz`, with id, source, reason, detail and text; `statistics.json` counts
    them.

    Raises:
        InputError: the source is missing or cannot be read, two documents have the same id, or no document is left.
    """
    from components.corpus.chunks import chunk_size
    from components.corpus.partitions import count_partitions
    from components.corpus.transforms import PLAN, CorpusJob, build, find_units

    report_progress(0, 1, "reading")
    units = find_units(source)
    size = sum(unit.size for unit in units)
    with tempfile.TemporaryDirectory(dir=corpus.path) as scratch:
        scale = choose_scale(beam, size, threaded=True)
        ranges = count_partitions(size), chunk_size(size)
        job = CorpusJob(source, cleaning, str(corpus.path), scratch, SHARD_BYTES, scale, *ranges)
        counters = run_over(units, lambda work: build(work, job), beam, scale=scale)
        plan = json.loads((Path(scratch) / PLAN).read_text())
        if (Path(scratch) / CUT_DOCUMENTS).exists():
            shutil.move(Path(scratch) / CUT_DOCUMENTS, corpus.file(CUT_DOCUMENTS))
    if "problem" in plan:
        raise InputError(plan["problem"])
    statistics = plan["statistics"]
    corpus.file("statistics.json").write_text(json.dumps(statistics, indent=1) + "\n")
    corpus.counts = {
        "documents": statistics["documents"]["kept"],
        "dropped": statistics["dropped"],
        **{name: statistics["text"][name] for name in ("shards", "bytes", "sentences")},
        # Times are not in the statistics, because statistics are part of the content and times differ between runs.
        "seconds": {name[:-3]: value / 1000 for name, value in sorted(counters.items()) if name.endswith(" ms")},
    }
