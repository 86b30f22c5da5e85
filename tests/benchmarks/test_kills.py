"""Killed runs lose nothing; a short version of `python -m benchmarks.kills`."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.harness.processes import tree_of
from benchmarks.killed import toy_run
from benchmarks.killed.content import digests_of, unlike
from benchmarks.killed.disk import Disk
from benchmarks.killed.harms import HARMS
from benchmarks.killed.jobs import toy
from benchmarks.killed.process import kill_tree, run
from benchmarks.killed.siege import Siege, Tally, judge
from benchmarks.killed.trace import Trace, look
from pipeline.orchestrator.runner import run_pipeline
from tests.pipeline.orchestrator.toy import is_running


def test_a_few_kills_and_a_harm(tmp_path: Path) -> None:
    siege = Siege(toy(), Disk(tmp_path, can_fill=False), tmp_path / "log", seed=4)
    tally = siege.until(3, lambda tally: None)
    assert tally.is_clean, vars(tally)
    assert tally.kills.total() == 3
    assert tally.finished >= 1
    assert siege.volatile == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run_pipeline(toy_run.pipeline(), tmp_path / "root", preload=toy_run.PRELOAD)
    return tmp_path / "root"


def test_all_that_a_root_holds_is_told(root: Path) -> None:
    found = digests_of(root)
    assert "train/trained/text.txt" in found
    assert len(found) == 16, "a text and a manifest of each of eight steps"
    (text,) = (root / "artifacts" / "train").glob("*/text.txt")
    text.write_text("other")
    assert unlike(found, digests_of(root)) == ["train/trained/text.txt"]


def test_a_trace_tells_what_is_whole(root: Path) -> None:
    before = look(root)
    assert before.step == "before a run"
    assert set(before.published.values()) == {True}
    (text,) = (root / "artifacts" / "train").glob("*/text.txt")
    text.write_text("other")
    after = look(root).published
    assert [path for path, whole in after.items() if not whole] == [text.parent.relative_to(root).as_posix()]


@pytest.mark.parametrize("name", ["artifact cut", "artifact flipped", "clock set back"])
def test_a_harmed_root_comes_to_the_same_end(root: Path, name: str) -> None:
    before = digests_of(root)
    harmed = HARMS[name](root, random.Random(2))
    assert harmed is not None
    assert len(harmed) == (name != "clock set back")
    run_pipeline(toy_run.pipeline(), root, preload=toy_run.PRELOAD)
    assert unlike(before, digests_of(root)) == []


def test_what_is_lost_and_what_is_half_written() -> None:
    tally, harmed = Tally(), {"harmed", "mended"}
    before = Trace("train", {"kept": True, "lost": True, "harmed": True, "mended": False})
    judge(tally, before, Trace("train", {"kept": True, "broken": False, "mended": True}), harmed)
    assert (tally.lost, tally.half_written) == (["lost"], ["broken"])
    assert not tally.is_clean
    assert harmed == set(), "what was harmed once is whole or gone now"


def test_a_killed_tree_is_gone(tmp_path: Path) -> None:
    inner = "import os, subprocess, time; os.setsid(); subprocess.Popen(['sleep', '60']); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"],
        start_new_session=True,
    )
    deadline = time.monotonic() + 20
    while len(tree_of(process.pid)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    tree = tree_of(process.pid)
    kill_tree(process.pid)
    process.wait()
    assert not any(map(is_running, tree))


def test_a_run_that_is_let_be_tells_how_it_ended(tmp_path: Path) -> None:
    end = run([sys.executable, "-c", "print('done'); raise SystemExit(3)"], tmp_path / "log")
    assert end == (3, "done\n")


def test_whoever_interrupts_ends_the_run_as_well(tmp_path: Path) -> None:
    before, started = set(tree_of(os.getpid())), set[int]()

    def interrupt(_: float) -> bool:
        started.update(set(tree_of(os.getpid())) - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", interrupt)
    assert started
    assert not any(is_running(process) for process in started)
