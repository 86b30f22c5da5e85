"""Kills runs in a root of object storage, breaks connections to it, and compares what other machines see."""

import contextlib
import os
import random
import shutil
import time

from components.objects.mirror import CACHE_VARIABLE
from components.objects.store import ObjectStore
from components.objects.versions import RemoteVersions
from pipeline.orchestrator.records import ARTIFACTS
from plugins.remote_roots.mirror import open_mirror
from plugins.remote_roots.store import RemoteStore
from tests.plugins.remote_roots.s3.server import BUCKET, environment
from tests.robustness.crash.campaign import Results, compare_states
from tests.robustness.crash.faults import truncate_artifact
from tests.robustness.crash.process import run
from tests.robustness.crash.root_digests import PUSHED, differing_files, digest_root
from tests.robustness.crash.root_state import RootState, read_root_state

_FAULT_SHARE, _EARLY_SHARE = 0.3, 0.3
_EARLY_SECONDS, _TIME_FACTOR = 4.0, 1.2
# A start whose connections broke again and again may give up; the next one goes on.
_UNREACHABLE = ("must be reachable", "run the same command again")


class RemoteCampaign:
    """Kills a job in a root of object storage, after two undisturbed runs.

    After each kill the root is read as a further machine would read it: an empty cache, all artifacts and versions
    downloaded and checked.

    Args:
        job: the job to kill; its command takes the address of the root.
        proxy: in front of the server; the runs use it.
        server: the URL of the server, for what compares.
        folder: an empty folder.
        seed: of moments and faults.

    Attributes:
        results: the results so far.
        volatile: files that are not compared.
    """

    def __init__(self, job, proxy, server, folder, seed):
        self._job, self._proxy, self._server, self._folder = job, proxy, server, folder
        self._generator = random.Random(seed)
        self._roots = 0
        self.results = Results()
        self._reference = self._run_undisturbed()
        start = time.monotonic()
        self.volatile = differing_files(self._reference, self._run_undisturbed())
        self._seconds = time.monotonic() - start

    def run(self, kills, report):
        """Runs until so many kills are done and the last run has ended, or until something goes wrong."""
        while self.results.kills.total() < kills and self.results.is_clean:
            self._crash_one_root(kills)
            report(self.results)
        return self.results

    def _run_undisturbed(self):
        self._start_root()
        end = self._start(self._server, None)
        if end.status != 0:
            raise RuntimeError(f"an undisturbed run of the job must exit with 0, got {end}")
        with self._snapshot() as root:
            return digest_root(root)

    def _start_root(self):
        self._roots += 1
        self._address = f"s3://{BUCKET}/roots/{self._roots}"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def _start(self, url, should_kill):
        command = [part.replace("KEPT", str(self._folder / "kept")) for part in self._job.command(self._address)]
        with _variables(environment(url, self._folder / "cache")):
            return run(command, self._folder / "log", should_kill)

    def _crash_one_root(self, kills):
        """Runs the job in a new root, with kills and faults, until it is done."""
        self._start_root()
        state, results, root_kills = RootState("", {}), self.results, 0
        while True:
            may_kill = root_kills < self._job.max_kills and results.kills.total() < kills
            end = self._start(self._proxy.url, self._draw_moment() if may_kill else None)
            with self._snapshot() as root:
                before, state = state, read_root_state(root)
                compare_states(results, before, state, set())
                if end.status == 0:
                    differences = differing_files(self._reference, digest_root(root))
            if end.status == 0:
                break
            if end.status is None:
                root_kills += 1
                results.kills[state.step] += 1
            elif any(text in end.output for text in _UNREACHABLE):
                results.faults["gave up"] += 1
            else:
                results.unexpected.append(f"status {end.status}: {end.output}")
            if not results.is_clean:
                return
            self._damage_mirror()
        results.finished += 1
        results.different += [name for name in differences if name not in self.volatile]

    def _draw_moment(self):
        is_early = self._generator.random() < _EARLY_SHARE
        moment = self._generator.uniform(0, _EARLY_SECONDS if is_early else self._seconds * _TIME_FACTOR)
        return lambda seconds: seconds >= moment

    def _damage_mirror(self):
        """Damages or removes the local mirror now and then: only the address counts."""
        if self._generator.random() >= _FAULT_SHARE:
            return
        for mirror in (self._folder / "cache" / "roots").glob("*"):
            if self._generator.random() < 0.5:
                shutil.rmtree(mirror)
                self.results.faults["another machine"] += 1
            elif truncate_artifact(mirror, self._generator) is not None:
                self.results.faults["artifact of the mirror cut"] += 1

    def _snapshot(self):
        return snapshot(self._server, self._folder / "snapshot", self._address)


@contextlib.contextmanager
def snapshot(server, cache, address):
    """All of a root, downloaded by a machine that has nothing.

    Args:
        server: the URL of the server.
        cache: the cache of that machine, which is removed first.
        address: of the root.
    """
    shutil.rmtree(cache, ignore_errors=True)
    with _variables(environment(server, cache)):
        root = open_mirror(address)
        if ObjectStore(address).children():
            with contextlib.closing(RemoteStore(root)) as store:
                for published in store.artifacts():
                    store.pull(published.artifact)
        versions = ObjectStore(f"{address}/{PUSHED}")
        for name in versions.children():
            complete = RemoteVersions(f"{versions.address}/{name}")
            for number in complete.numbers():
                (root / PUSHED / name).mkdir(parents=True, exist_ok=True)
                complete.download(number, root / PUSHED / name / str(number))
        (root / ARTIFACTS).mkdir(exist_ok=True)
        yield root


@contextlib.contextmanager
def _variables(values):
    """Sets variables of this process, which those that it starts get, too."""
    assert CACHE_VARIABLE in values
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
