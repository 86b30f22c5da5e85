"""Measures our steps from text to masked records, in this process and its workers.

    python -m benchmarks.harness.masked_records --text FILE --vocabulary FILE --folder FOLDER [--workers N]

Runs `ingest_corpus` and `mask_examples` as a user's script does, on plain folders. The last line printed is JSON:
seconds of each without imports, seconds that the same two take on six sentences (start-up of workers, fixed costs),
processor seconds of this process and of the workers that have ended, megabytes after the imports, and rows.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from benchmarks.harness.processes import tree_memory
from benchmarks.harness.texts import load_vocabulary
from components.artifacts.standard import Corpus, PretrainingExamples, Vocabulary
from components.beam.engine import BeamOptions
from components.ingest_corpus import ingest_corpus
from components.mask_examples import mask_examples
from components.sources.text import TextSource
from keras_bert.options.pretraining import Masking

_SMALL = "A cat sat on a mat. It slept.\n\nRain fell all day long. Roads were wet.\n\nShe reads books. He writes them."


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the outputs; must be empty")
    parser.add_argument("--workers", type=int, help="as many as the work is worth if left out")
    options = parser.parse_args()
    vocabulary = Vocabulary(options.folder / "vocabulary")
    vocabulary.path.mkdir(parents=True)
    load_vocabulary(options.vocabulary).save(vocabulary.path)
    vocabulary.seal({})
    engine = BeamOptions(workers=options.workers)
    idle = tree_memory(os.getpid())
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        small = Path(scratch) / "small.txt"
        small.write_text(_SMALL)
        started = make(small, vocabulary, Path(scratch), engine)
    cpu = sum(os.times()[:4])
    figures = make(options.text, vocabulary, options.folder, engine)
    cpu = sum(os.times()[:4]) - cpu
    fixed = {f"{name} start": started[name] for name in ("ingest", "mask")}
    print(json.dumps(figures | fixed | {"cpu": cpu, "idle": idle}))


def make(text: Path, vocabulary: Vocabulary, folder: Path, engine: BeamOptions) -> dict[str, float]:
    """Returns the seconds of both steps and the number of rows."""
    corpus, examples = Corpus(folder / "corpus"), PretrainingExamples(folder / "examples")
    began = time.perf_counter()
    ingest_corpus.run(corpus=corpus, source=TextSource(str(text)), beam=engine)
    ingested = time.perf_counter()
    mask_examples.run(
        corpus=corpus,
        vocabulary=vocabulary,
        examples=examples,
        masking=Masking(max_predictions=20),
        max_length=128,
        beam=engine,
    )
    masked = time.perf_counter()
    rows = sum(examples.manifest()["counts"].values())
    return {"ingest": ingested - began, "mask": masked - ingested, "rows": rows}


if __name__ == "__main__":
    main()
