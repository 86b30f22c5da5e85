"""Runs that are killed at any moment, and harmed in between: in the end nothing is lost, half-written or different.

    python -m benchmarks.kills --job toy --kills 1000
    python -m benchmarks.kills --job tiny --kills 100
    python -m benchmarks.kills --job job.toml --kills 100

The job runs twice undisturbed; files in which the two are unlike tell times or places. Then it is started in a new
root, killed with all its processes, started again, until it is done; then in another root, until there were so many
kills. Now and then its root is harmed between two starts. The exit status is 1 unless all that was published stayed,
all that is there is whole, and all files are those of the undisturbed run, byte for byte. Linux only; to fill a disk
takes the right to mount one.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.killed.disk import small_disk
from benchmarks.killed.jobs import Job, of_settings, tiny, toy
from benchmarks.killed.siege import Siege, Tally


def besiege(job: Job, root: Path, log: Path, *, kills: int, seed: int, megabytes: int) -> Siege:
    """Kills a job so often, and says how it stands after each run.

    Args:
        job: what to kill.
        root: an empty folder for the roots.
        log: takes what runs write.
        kills: how often.
        seed: of moments and harms.
        megabytes: of the disk that is mounted for the roots.
    """
    began = time.monotonic()

    def tell(tally: Tally) -> None:
        spent = time.monotonic() - began
        print(f"{tally.kills.total()} kills, {tally.finished} runs done, {spent:.0f} s", file=sys.stderr, flush=True)

    with small_disk(root, megabytes) as disk:
        siege = Siege(job, disk, log, seed)
        if not disk.can_fill:
            print("no disk was filled: this user may mount none")
        try:
            siege.until(kills, tell)
        except KeyboardInterrupt:
            print("stopped early")
    return siege


def show(siege: Siege) -> None:
    """Prints what a siege came to."""
    tally = siege.tally
    print(f"kills: {tally.kills.total()}, in {_counts(tally.kills)}")
    print(f"harms between starts: {_counts(tally.harms) or 'none'}")
    print(f"runs that came to their end: {tally.finished}")
    print(f"roots refused after their store's log was cut: {tally.refused}")
    print(f"not compared, as two undisturbed runs differ in them: {', '.join(siege.volatile) or 'none'}")
    for name, found in (
        ("lost", tally.lost),
        ("half-written", tally.half_written),
        ("different", tally.different),
        ("ended as they should not", tally.odd),
    ):
        print(f"{name}: {len(found)}", *found[:20], sep="\n  ")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())


def main() -> int:
    """Kills, and prints the tally."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, metavar="N")
    parser.add_argument("--job", default="tiny", metavar="JOB", help="toy, tiny (the default), or a settings file")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--root", type=Path, metavar="FOLDER", help="an empty folder for the roots (default: a new one)"
    )
    parser.add_argument("--megabytes", type=int, default=1024, metavar="N", help="of the disk mounted for the roots")
    options = parser.parse_args()
    # A disk is mounted, and a run goes on: whoever ends this one means those as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.job == "toy":
            job = toy()
        else:
            job = tiny(place) if options.job == "tiny" else of_settings(Path(options.job).absolute())
        root = options.root or place / "roots"
        root.mkdir(parents=True, exist_ok=True)
        siege = besiege(job, root, place / "log", kills=options.kills, seed=options.seed, megabytes=options.megabytes)
        show(siege)
    return int(not siege.tally.is_clean)


if __name__ == "__main__":
    sys.exit(main())
