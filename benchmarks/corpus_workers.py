"""Time, processor time and memory of `ingest_corpus` by the number of worker processes, and what a terabyte would take.

    python -m benchmarks.corpus_workers --megabytes 1000 --workers 1 2 4

The text is that of the default job's docstrings, or `--text`, repeated up to the size; in every copy but the first the
words inside each sentence have another order, as in `benchmarks.data`, so that no copies are near duplicates. Each
number of workers reads a quarter of the text and then all of it, in a process of its own; slopes between the two leave
out what does not grow: imports, and the start of Beam and its workers. All corpora of one text must be the same bytes.

Memory is the peak resident set: of the process that launches and plans, and of the largest worker. With one worker both
are one process. Core hours are processor time of all processes, which hardly depends on other load of the machine.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.harness.processes import watch
from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions
from components.dsl.artifact import content_digest, list_files
from components.ingest_corpus import ingest_corpus
from components.scoring.process_memory import peak_megabytes
from components.sources.docstrings import DocstringCorpus
from components.sources.text import TextSource

SHARE = 0.25
_TERABYTE = 1e6  # in MB
_HOUR = 3600


def main() -> None:
    """Prints the tables, or ingests one text for the process that does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--text", type=Path, help="documents are parted by blank lines (default: docstrings)")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        print(json.dumps(ingest(options.serve, options.workers[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        print_tables(measure(options, Path(folder)))


def measure(options: argparse.Namespace, folder: Path) -> dict[tuple[int, float], dict[str, Any]]:
    """(workers, megabytes) -> what `ingest` answers.

    Raises:
        SystemExit: two corpora of one text differ.
    """
    # It imports tensorflow, which the processes that are measured must not.
    from benchmarks.data import megabytes, repeat

    text = options.text or write_docstrings(folder / "docstrings.txt")
    results = {}
    for size in (SHARE * options.megabytes, options.megabytes):
        part = folder / "part.txt"
        with part.open("w") as file:
            file.writelines(repeat(text, size))
        for workers in options.workers:
            serving = ["--serve", str(part), "--workers", str(workers)]
            results[workers, megabytes(part)] = watch("benchmarks.corpus_workers", serving).answer
        digests = {answer["digest"] for (_, read), answer in results.items() if read == megabytes(part)}
        if len(digests) > 1:
            raise SystemExit(f"the corpora of {size:g} MB must be equal for all numbers of workers, got {results}")
    return results


def write_docstrings(file: Path) -> Path:
    """The docstrings of the default job as a text, a paragraph of lines a document."""
    source = DocstringCorpus()
    with file.open("w") as text:
        for name in source.files():
            for document in source.documents(name):
                text.write("\n".join(line for line in document.text.splitlines() if line.strip()) + "\n\n")
    return file


def ingest(text: Path, workers: int) -> dict[str, Any]:
    """Ingests a text in this process and its workers: seconds, seconds of all cores, peaks in MB, a digest."""
    with tempfile.TemporaryDirectory(dir=text.parent) as folder:
        corpus, start = Corpus(Path(folder) / "corpus"), time.perf_counter()
        ingest_corpus.run(corpus=corpus, source=TextSource(str(text)), beam=BeamOptions(workers=workers))
        seconds = time.perf_counter() - start
        digests = [content_digest(corpus.path / name) for name in list_files(corpus.path) if "manifest" not in name]
    # Linux's `ru_maxrss` of this process would include that of the process that started it.
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": seconds,
        "cores": sum(usage.ru_utime + usage.ru_stime for usage in usages),
        "launcher": peak_megabytes() or usages[0].ru_maxrss * unit / 1e6,
        "worker": usages[1].ru_maxrss * unit / 1e6,
        "digest": sha256("".join(digests).encode()).hexdigest(),
    }


def print_tables(results: dict[tuple[int, float], dict[str, Any]]) -> None:
    """A line for each run, and one for each number of workers with the slopes between its two texts."""
    print("| workers | MB of text | s | core s | launcher, peak MB | a worker, peak MB |")
    print("|---:|---:|---:|---:|---:|---:|")
    for (workers, size), answer in sorted(results.items()):
        worker = f"{answer['worker']:.0f}" if workers > 1 else "the same"
        times = f"{answer['seconds']:.1f} | {answer['cores']:.1f}"
        print(f"| {workers} | {size:.0f} | {times} | {answer['launcher']:.0f} | {worker} |")
    print("\n| workers | MB/s | core s for 1 GB | core hours for 1 TB | MB of a process for each GB of text |")
    print("|---:|---:|---:|---:|---:|")
    for workers in sorted({workers for workers, _ in results}):
        small, large = sorted(size for number, size in results if number == workers)
        growth = {
            name: (results[workers, large][name] - results[workers, small][name]) / (large - small)
            for name in ("seconds", "cores", "launcher", "worker")
        }
        hours = growth["cores"] * _TERABYTE / _HOUR
        memory = 1000 * max(growth["launcher"], growth["worker"])
        print(
            f"| {workers} | {1 / growth['seconds']:.1f} | {1000 * growth['cores']:.0f} | {hours:.0f} | {memory:.0f} |"
        )


if __name__ == "__main__":
    main()
