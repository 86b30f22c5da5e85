"""Crash test of a root in object storage: kills runs at random moments, and breaks connections to the server.

    python -m tests.plugins.remote_roots.s3.crashes --job toy --kills 200
    MINIO=/usr/local/bin/minio python -m tests.plugins.remote_roots.s3.crashes --job tiny --kills 20

As `python -m tests.robustness.crashes`, with a server of S3 on loopback and a proxy in front of it: a share of the
connections is reset, answered with 503, slowed down, or cut in the middle of an upload. After each kill the root is
read by a machine with an empty cache. The exit status is 1 unless nothing was lost, half-written or different.
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.plugins.remote_roots.s3.campaign import RemoteCampaign
from tests.plugins.remote_roots.s3.proxy import proxy
from tests.plugins.remote_roots.s3.server import s3_server
from tests.robustness.crash.jobs import Job, tiny_job
from tests.robustness.crashes import show_results


def remote_toy_job():
    """Steps of milliseconds; the version that they keep lies in a folder beside the caches."""
    module = "tests.robustness.crash.toy_pipeline"
    return Job(lambda root: [sys.executable, "-m", module, str(root), "KEPT"], max_kills=12)


def main():
    """Runs the campaign of the command line, and prints its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--job", default="toy", choices=("toy", "tiny"))
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--share", type=float, default=0.1, metavar="X", help="connections with a fault")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = time.monotonic()

    def report(results):
        seconds = time.monotonic() - start
        print(f"{results.kills.total()} kills, {results.finished} runs done, {seconds:.0f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "server").mkdir()
        (place / "job").mkdir()
        job = remote_toy_job() if options.job == "toy" else tiny_job(place / "job")
        with s3_server(place / "server") as server, proxy(server, options.share, options.seed) as connections:
            campaign = RemoteCampaign(job, connections, server, place / "roots", options.seed)
            try:
                campaign.run(options.kills, report)
            except KeyboardInterrupt:
                print("stopped early")
            print(f"connections with a fault: {dict(connections.faults)}")
    show_results(campaign.results, campaign.volatile)
    return int(not campaign.results.is_clean)


if __name__ == "__main__":
    sys.exit(main())
