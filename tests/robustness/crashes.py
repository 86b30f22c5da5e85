"""Crash test: kills runs at random moments and injects faults between starts; nothing may be lost or half-written.

    python -m tests.robustness.crashes --job toy --kills 1000
    python -m tests.robustness.crashes --job tiny --kills 100
    python -m tests.robustness.crashes --job job.toml --kills 100

The job runs twice undisturbed; files that differ between the two contain timestamps or paths. Then it is started in a
new root, killed with all its processes, started again, until it is done; then in another root, until the number of
kills is reached. Before a quarter of the starts a fault is injected into the root. The exit status is 1 unless all
published artifacts stayed, all are intact, and all files equal those of the undisturbed run, byte for byte. Linux only;
filling a disk needs the right to mount one.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.robustness.crash.campaign import CrashCampaign, Results
from tests.robustness.crash.disk import mount_disk
from tests.robustness.crash.jobs import Job, settings_job, tiny_job, toy_job


def run_campaign(job: Job, root: Path, log: Path, *, kills: int, seed: int, megabytes: int) -> CrashCampaign:
    """Runs a crash campaign, with a line of progress after each root.

    Args:
        job: the job to kill.
        root: an empty folder for the roots.
        log: the file that takes the output of the runs.
        kills: number of kills.
        seed: of moments and faults.
        megabytes: size of the disk that is mounted for the roots.
    """
    start_time = time.monotonic()

    def report(results: Results) -> None:
        seconds = time.monotonic() - start_time
        print(
            f"{results.kills.total()} kills, {results.finished} runs done, {seconds:.0f} s", file=sys.stderr, flush=True
        )

    with mount_disk(root, megabytes) as disk:
        campaign = CrashCampaign(job, disk, log, seed)
        if not disk.can_fill:
            print("no disk was filled: this user may mount none")
        try:
            campaign.run(kills, report)
        except KeyboardInterrupt:
            print("stopped early")
    return campaign


def show_results(results: Results, volatile: Sequence[str]) -> None:
    """Prints the results of a campaign, and the files that it could not compare."""
    print(f"kills: {results.kills.total()}, in {_format_counts(results.kills)}")
    print(f"faults between starts: {_format_counts(results.faults) or 'none'}")
    print(f"runs done: {results.finished}")
    print(f"roots refused after their store's journal was cut: {results.refused}")
    print(f"not compared, as two undisturbed runs differ in them: {', '.join(volatile) or 'none'}")
    for name, items in (
        ("lost", results.lost),
        ("half-written", results.half_written),
        ("different", results.different),
        ("unexpected failures", results.unexpected),
    ):
        print(f"{name}: {len(items)}", *items[:20], sep="\n  ")


def _format_counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())


def main() -> int:
    """Runs the campaign of the command line, and prints its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, metavar="N")
    parser.add_argument("--job", default="tiny", metavar="JOB", help="toy, tiny (the default), or a settings file")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--root", type=Path, metavar="FOLDER", help="an empty folder for the roots (default: a new one)"
    )
    parser.add_argument(
        "--megabytes", type=int, default=1024, metavar="N", help="size of the disk mounted for the roots"
    )
    options = parser.parse_args()
    # Terminated, this process has to unmount the disk and to kill the active run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if options.job == "toy":
            job = toy_job()
        else:
            job = tiny_job(place) if options.job == "tiny" else settings_job(Path(options.job).absolute())
        root = options.root or place / "roots"
        root.mkdir(parents=True, exist_ok=True)
        campaign = run_campaign(
            job, root, place / "log", kills=options.kills, seed=options.seed, megabytes=options.megabytes
        )
        show_results(campaign.results, campaign.volatile)
    return int(not campaign.results.is_clean)


if __name__ == "__main__":
    sys.exit(main())
