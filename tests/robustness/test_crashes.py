"""Killed runs lose no artifact; a short version of `python -m tests.robustness.crashes`."""

import os
import pkgutil
import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import components
from pipeline.job.files import load_settings
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline
from tests.robustness.crash import toy_pipeline
from tests.robustness.crash.campaign import CrashCampaign, Results, compare_states
from tests.robustness.crash.disk import Disk
from tests.robustness.crash.faults import FAULTS
from tests.robustness.crash.jobs import tiny_job, toy_job
from tests.robustness.crash.process import is_running, kill_tree, process_tree, run
from tests.robustness.crash.root_digests import differing_files, digest_root
from tests.robustness.crash.root_state import RootState, read_root_state

# Steps that no run of a classifier from a corpus has, but other starts, tasks and commands.
OTHER_STEPS = {
    "diagnose",
    "import_checkpoint",
    "measure_latency",
    "mine_hard_negatives",
    "score_with_reranker",
}


def test_the_tiny_job_has_every_step_of_a_classifier(tmp_path: Path) -> None:
    tiny_job(tmp_path)
    nodes = build_pipeline(load_settings(tmp_path / "job" / "tiny.toml"), tmp_path / "root").nodes
    steps = {module.name for module in pkgutil.iter_modules(components.__path__) if not module.ispkg}
    # Further steps are those of plug-ins.
    assert {node.component.name for node in nodes} & steps == steps - OTHER_STEPS


def test_a_few_kills_and_a_fault(tmp_path: Path) -> None:
    campaign = CrashCampaign(toy_job(), Disk(tmp_path, can_fill=False), tmp_path / "log", seed=4)
    results = campaign.run(3, lambda results: None)
    assert results.is_clean, vars(results)
    assert results.kills.total() == 3
    assert results.finished >= 1
    assert campaign.volatile == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    run_pipeline(toy_pipeline.build_pipeline(tmp_path / "root"), tmp_path / "root", preload=toy_pipeline.PRELOAD)
    return tmp_path / "root"


def test_digests_name_every_file(root: Path) -> None:
    digests = digest_root(root)
    assert "train/trained/text.txt" in digests
    assert len(digests) == 16, "a text and a manifest of each of eight steps"
    (text,) = (root / "artifacts" / "train").glob("*/text.txt")
    text.write_text("other")
    assert differing_files(digests, digest_root(root)) == ["train/trained/text.txt"]


def test_a_root_state_names_broken_artifacts(root: Path) -> None:
    before = read_root_state(root)
    assert before.step == "before a run"
    assert set(before.intact.values()) == {True}
    (text,) = (root / "artifacts" / "train").glob("*/text.txt")
    text.write_text("other")
    after = read_root_state(root).intact
    assert [path for path, intact in after.items() if not intact] == [text.parent.relative_to(root).as_posix()]


@pytest.mark.parametrize("name", ["artifact cut", "artifact flipped", "clock set back"])
def test_a_run_repairs_a_faulty_root(root: Path, name: str) -> None:
    before = digest_root(root)
    damaged = FAULTS[name](root, random.Random(2))
    assert damaged is not None
    assert len(damaged) == (name != "clock set back")
    run_pipeline(toy_pipeline.build_pipeline(root), root, preload=toy_pipeline.PRELOAD)
    assert differing_files(before, digest_root(root)) == []


def test_lost_and_half_written_artifacts() -> None:
    results, damaged = Results(), {"damaged", "repaired"}
    before = RootState("train", {"kept": True, "lost": True, "damaged": True, "repaired": False})
    compare_states(results, before, RootState("train", {"kept": True, "broken": False, "repaired": True}), damaged)
    assert (results.lost, results.half_written) == (["lost"], ["broken"])
    assert not results.is_clean
    assert damaged == set(), "damaged artifacts are repaired or gone"


def test_a_killed_tree_is_gone(tmp_path: Path) -> None:
    inner = "import os, subprocess, time; os.setsid(); subprocess.Popen(['sleep', '60']); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"],
        start_new_session=True,
    )
    deadline = time.monotonic() + 20
    while len(process_tree(process.pid)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    tree = process_tree(process.pid)
    kill_tree(process.pid)
    process.wait()
    assert not any(map(is_running, tree))


def test_an_undisturbed_run_returns_status_and_output(tmp_path: Path) -> None:
    end = run([sys.executable, "-c", "print('done'); raise SystemExit(3)"], tmp_path / "log")
    assert end == (3, "done\n")


def test_an_interrupt_ends_the_run(tmp_path: Path) -> None:
    before, started = set(process_tree(os.getpid())), set[psutil.Process]()

    def interrupt(_: float) -> bool:
        started.update(set(process_tree(os.getpid())) - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", interrupt)
    assert started
    assert not any(is_running(process) for process in started)
