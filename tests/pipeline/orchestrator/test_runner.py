import ast
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.dsl.errors import InputError
from pipeline.orchestrator import fingerprint, source_code
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.root import locked_root
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator import toy
from tests.processes import wait_for

REPOSITORY = Path(__file__).parents[3]


def run(root, *outputs):
    return run_pipeline(Pipeline("toy", outputs), root, preload=())


def states(result):
    return {step.name: step.state for step in result.steps}


def chain(value, mark="!"):
    """write -> initial -> shout: the first letter, loud."""
    return toy.shout(text=toy.initial(text=toy.write(value=value).output(toy.Text)).output(toy.Text), mark=mark)


def test_everything_runs_once_and_is_cached_afterwards(tmp_path):
    first = run(tmp_path / "root", chain("hello"))
    assert states(first) == {"write": "ran", "initial": "ran", "shout": "ran"}
    again = run(tmp_path / "root", chain("hello"))
    assert states(again) == {"write": "cached", "initial": "cached", "shout": "cached"}
    loud = again.step("shout").outputs["loud"]
    assert isinstance(loud, toy.Text)
    assert loud.read() == "H!"
    assert loud.path == first.step("shout").outputs["loud"].path
    assert [step.worked for step in again.steps] == [step.worked for step in first.steps]
    assert all(step.worked > 0 for step in first.steps)
    assert (again.state, again.message) == ("done", "")


def test_run_without_all_steps_or_of_a_larger_command_is_partial(tmp_path):
    def start(to=None, **options):
        return run_pipeline(Pipeline("toy", [chain("hello")]), tmp_path, request=Request(to=to), preload=(), **options)

    results = [start("initial"), start(is_whole=False), start("shout", part_of=2)]
    assert [result.state for result in results] == ["done"] * 3
    with contextlib.closing(Store(tmp_path)) as store:
        recorded = [(run.state, run.part_of) for run in store.runs()]
    assert recorded == [("done", 2), ("partial", None), ("partial", None)]


def test_second_process_reuses_parsed_code(tmp_path, monkeypatch):
    run(tmp_path, chain("hello"))
    for module, name in ((source_code, "_SOURCES"), (fingerprint, "_CODES"), (fingerprint, "_IMPORTED")):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("parsed again"))
    assert set(states(run(tmp_path, chain("hello"))).values()) == {"cached"}


def test_changed_setting_reruns_later_steps_until_outputs_are_equal(tmp_path):
    run(tmp_path, chain("hello"))
    assert states(run(tmp_path, chain("hello", mark="?"))) == {"write": "cached", "initial": "cached", "shout": "ran"}
    assert states(run(tmp_path, chain("howdy"))) == {"write": "ran", "initial": "ran", "shout": "cached"}


def test_cache_ignores_the_name_of_a_node(tmp_path):
    named = toy.write(value="hello")
    named.name = "write-0"
    run(tmp_path, named)
    again = run(tmp_path, toy.write(value="hello"))
    assert states(again) == {"write": "cached"}
    assert again.step("write").outputs["text"].read() == "hello"


def test_cache_key_has_content_of_input_file_but_not_its_path(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("hello")

    def load():
        return states(run(tmp_path / "root", toy.load(source=toy.File(str(mine)))))

    assert [load(), load()] == [{"load": "ran"}, {"load": "cached"}]
    mine = mine.rename(tmp_path / "moved.txt")
    assert load() == {"load": "cached"}
    mine.write_text("other")
    assert load() == {"load": "ran"}


def test_a_root_can_be_moved(tmp_path):
    run(tmp_path / "here", chain("hello"))
    (tmp_path / "here").rename(tmp_path / "there")
    assert set(states(run(tmp_path / "there", chain("hello"))).values()) == {"cached"}


def test_edited_code_reruns_a_step_but_edited_comments_do_not(tmp_path):
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "steps.py").write_text(
        "from components.dsl.component import component\n"
        "from components.dsl.component import Output\n"
        "from tests.pipeline.orchestrator.toy import Text\n"
        "@component()\n"
        "def make(out: Output[Text]) -> None:\n"
        "    from shop.prices import price\n"
        "    out.write(str(price))\n"
    )
    script = (
        "from pipeline.orchestrator.runner import run_pipeline\n"
        "from pipeline.orchestrator.graph import Pipeline\n"
        "from shop.steps import make\n"
        f"result = run_pipeline(Pipeline('shop', [make()]), {str(tmp_path / 'root')!r}, preload=())\n"
        "step = result.step('make')\n"
        "import sys; sys.stdout.write(step.state + ' ' + step.outputs['out'].read())\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"}

    def make(prices):
        (package / "prices.py").write_text(prices)
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert make("price = 1\n") == "ran 1"
    assert make("'''Prices.'''\n\nprice = 1  # a euro\n") == "cached 1"
    assert make("price = 22\n") == "ran 22"
    assert make("price = 1 \n") == "cached 1"


def test_a_cached_run_imports_no_library(tmp_path):
    run(tmp_path, chain("hello"))
    script = (
        "import sys; from pathlib import Path; from tests.pipeline.orchestrator.test_runner import chain; "
        "from pipeline.orchestrator.graph import Pipeline; from pipeline.orchestrator.runner import run_pipeline\n"
        f"result = run_pipeline(Pipeline('toy', [chain('hello')]), {str(tmp_path)!r})\n"
        "assert {step.state for step in result.steps} == {'cached'}\n"
        "loaded = {'tensorflow', 'keras', 'numpy', 'apache_beam'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
        "import multiprocessing.forkserver as f\n"
        "assert f._forkserver._forkserver_pid is None\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=True)


def test_refusal_skips_later_steps_and_is_not_cached(tmp_path):
    for expected in ("ran", "cached"):
        result = run(tmp_path, *toy.misbehaving("refusal"))
        assert states(result) == {"write": expected, "behave": "refused", "initial": "skipped"}
        assert (result.state, result.message) == ("refused", "not good enough")


def test_crash_ends_the_run_quietly_and_keeps_finished_steps(tmp_path, capfd):
    result = run(tmp_path, *toy.misbehaving("crash"))
    assert capfd.readouterr() == ("", "")
    assert states(result) == {"write": "ran", "behave": "failed", "initial": "skipped"}
    assert result.state == "failed"
    assert "Step behave failed: KeyError: 'surprise'" in result.message
    assert states(run(tmp_path, *toy.misbehaving("well"))) == {"write": "cached", "behave": "ran", "initial": "ran"}
    assert [r.state for r in Store(tmp_path).runs()] == ["done", "failed"]


def test_refuses_bad_data_before_making_the_root(tmp_path):
    with pytest.raises(InputError, match=r"File.path"):
        run(tmp_path / "a" / "root", toy.load(source=toy.File("/no/such")))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_there", [False, True])
def test_input_error_in_the_first_step_removes_only_a_new_root(tmp_path, is_there):
    mine, root = tmp_path / "mine.txt", tmp_path / "a" / "root"
    mine.write_text("x")
    if is_there:
        root.mkdir(parents=True)
    with pytest.raises(InputError, match="changed while it was read"):
        run(root, toy.edit_while_loading(source=toy.File(str(mine))))
    assert sorted(tmp_path.iterdir()) == ([tmp_path / "a", mine] if is_there else [mine])
    assert not (root / ".staging").exists()


def test_an_input_error_keeps_the_checkpoints_in_a_new_root(tmp_path):
    with pytest.raises(InputError, match="the rows cannot be scored"):
        run(tmp_path / "root", toy.save_and_complain())
    (checkpoint,) = (tmp_path / "root" / ".unfinished").glob("save_and_complain-*/checkpoint")
    assert checkpoint.read_text() == "hours of work"


@pytest.mark.parametrize("age", ["new", "old"])
def test_input_error_in_a_later_step_keeps_published_artifacts(tmp_path, age):
    root = tmp_path / "root"
    if age == "old":
        root.mkdir()
    with pytest.raises(InputError, match=r"behave.how must be well"):
        run(root, *toy.misbehaving("input_error"))
    assert sorted(p.name for p in root.iterdir()) == [".code.json", ".lock", "artifacts", "logs", "metadata.sqlite"]
    assert [p.name for p in (root / "logs").rglob("*.log")] == ["write.log"]
    assert Store(root).runs()[0].state == "failed"
    assert states(run(root, *toy.misbehaving("well")))["write"] == "cached"


def test_refuses_root_with_foreign_files(tmp_path):
    foreign = tmp_path / "artifacts" / "models" / "v1"
    foreign.mkdir(parents=True)
    with pytest.raises(InputError, match=r"root must be a new or empty folder, .*: it holds artifacts"):
        run(tmp_path, *toy.misbehaving("well"))
    assert foreign.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["artifacts"]


def test_a_root_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "root", Path("/proc/root_of_mine/x")):
        with pytest.raises(InputError, match=f"root must be a folder that can be written to, got {root}"):
            run(root, chain("hello"))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_two_runs_at_once(tmp_path):
    message = (
        f"root must be free, got {tmp_path}: another run holds it \\(run, process {os.getpid()} on .*\\); "
        "commands that start as `flock FILE keras-bert-edge ...`, all with one FILE, wait for each other, "
    )
    with locked_root(tmp_path), pytest.raises(InputError, match=message):
        run(tmp_path, chain("hello"))
    assert run(tmp_path, chain("hello")).state == "done"


@contextlib.contextmanager
def mounted(folder, options):
    """A file system in memory, where this user may mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_full_disk_stops_a_run_with_one_line_and_the_next_run_resumes(tmp_path):
    with mounted(tmp_path / "disk", "size=1m") as disk:
        run(disk / "root", toy.write())
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        with pytest.raises(InputError, match=r"root must lie on a disk with space left, got .*; make room, then run"):
            run(disk / "root", chain("hello"))
        assert Store(disk / "root", create=False).runs()[-1].state == "done", "reading needs no space"
        ballast.unlink()
        assert states(run(disk / "root", chain("hello"))) == {"write": "cached", "initial": "ran", "shout": "ran"}


def test_full_disk_at_the_end_of_a_run(tmp_path, monkeypatch):
    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "finish_run", full)
        with pytest.raises(InputError, match=f"got {tmp_path}: database or disk is full; make room"):
            run(tmp_path, toy.write())
    assert states(run(tmp_path, toy.write())) == {"write": "cached"}


def test_a_root_that_cannot_be_written_any_more(tmp_path):
    with mounted(tmp_path / "disk", "size=4m") as disk:
        run(disk / "root", toy.write())
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        rule = "root must be a folder that can be written to"
        with pytest.raises(InputError, match=rf"{rule}, got .*: Read-only file system"):
            run(disk / "root", toy.write())


def test_sweeps_files_of_a_killed_run(tmp_path):
    kept = run(tmp_path, chain("hello")).step("write").outputs["text"].path
    (tmp_path / ".staging" / "old" / "text").mkdir(parents=True)
    orphan = kept.with_name("text-000000000000")
    orphan.mkdir()
    run(tmp_path, chain("hello"))
    assert not (tmp_path / ".staging").exists()
    assert not orphan.exists()
    assert kept.is_dir()


class RecordingObserver(Observer):
    """Records all calls."""

    def __init__(self):
        self.events = []

    def begin(self, names):
        self.events.append(("begin", *names))

    def estimated(self, estimate):
        self.events.append(("estimated", estimate.measured, estimate.unmeasured))

    def step(self, name, expected, record):
        self.events.append(("step", name, expected is not None))
        return super().step(name, expected, record)

    def finished(self, name, state, seconds):
        assert 0 <= seconds < 60
        self.events.append((name, state))

    def say(self, text):
        self.events.append(("say", text))


class StoppingObserver(Observer):
    """Ends the run once the training has written its record."""

    def __init__(self):
        self.pid = None

    def step(self, name, expected, record):
        watcher = super().step(name, expected, record)

        def tick():
            if (record / "note").is_file():
                self.pid = int((record / "note").read_text())
                raise StoppedRunError

        watcher.tick = tick
        return watcher


def test_observer_stops_a_run_without_saving_a_checkpoint(tmp_path):
    observer, training = StoppingObserver(), toy.train_for_long(text=toy.write().output(toy.Text))
    start = time.monotonic()
    with pytest.raises(StoppedRunError):
        run_pipeline(Pipeline("toy", [training]), tmp_path, observer=observer, preload=())
    assert time.monotonic() - start < 20, "it is not asked for a last checkpoint"
    assert observer.pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(observer.pid, 0)
    assert not list((tmp_path / ".unfinished").glob("*"))
    assert not list((tmp_path / ".staging").glob("*"))
    with contextlib.closing(Store(tmp_path, create=False)) as store:
        (only,) = store.runs()
        assert only.state == "partial"
        assert [execution.node for execution in store.executions(only.id)] == ["write"]
    again = run(tmp_path, toy.initial(text=toy.write().output(toy.Text)))
    assert states(again) == {"write": "cached", "initial": "ran"}, "the root is free"


def test_observer_receives_every_step(tmp_path):
    def events_of(how):
        recorder = RecordingObserver()
        run_pipeline(Pipeline("toy", toy.misbehaving(how)), tmp_path, observer=recorder, preload=())
        return recorder.events

    begin = ("begin", "write", "behave", "initial")
    assert events_of("refusal") == [
        begin,
        ("estimated", (), ("write", "behave", "initial")),
        ("step", "write", False),
        ("write", "ran"),
        ("step", "behave", False),
        ("behave", "refused"),
        ("initial", "skipped"),
    ]
    assert events_of("crash") == [
        begin,
        ("write", "cached"),
        ("estimated", (), ("behave", "initial")),
        ("step", "behave", False),
        ("behave", "failed"),
        ("initial", "skipped"),
    ]
    (text,) = (tmp_path / "artifacts" / "write").glob("text-*/text.txt")
    text.unlink()
    assert events_of("well") == [
        begin,
        ("say", "write: made before, but text was changed or removed on disk; it runs again"),
        ("estimated", ("write",), ("behave", "initial")),
        ("step", "write", True),
        ("write", "ran"),
        ("step", "behave", False),
        ("behave", "ran"),
        ("step", "initial", False),
        ("initial", "ran"),
    ]


class SubprocessRun:
    """A run in a process of its own, in the middle of a slow step."""

    def __init__(self, folder, *launch):
        self.root, self.trace = folder / "root", folder / "trace"
        command = [sys.executable, "-m", "tests.pipeline.orchestrator.drive", str(self.root), "slow", str(self.trace)]
        self.process = subprocess.Popen(
            [*command, *launch],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # A shell starts what it puts into the background with SIGINT ignored; the tests may run there.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        grandchild = self.trace.with_name("trace.grandchild")
        wait_for(lambda: grandchild.exists() and grandchild.read_text(), self.process, 30)
        self.pids = [int(self.trace.read_text()), int(grandchild.read_text())]

    def assert_children_end(self, seconds=5.0):
        assert all(toy.ends(pid, seconds) for pid in self.pids)

    def assert_it_goes_on(self, state):
        """The next run goes on after the last finished step, and nothing half-written is left."""
        result = run(self.root, *toy.misbehaving("well"))
        assert states(result) == {"write": "cached", "behave": "ran", "initial": "ran"}
        store = Store(self.root)
        assert [r.state for r in store.runs()] == ["done", state]
        assert not (self.root / ".staging").exists()
        folders = {p.relative_to(self.root).as_posix() for p in (self.root / "artifacts").glob("*/*")}
        assert folders == store.paths()


def test_killed_step_finds_its_own_checkpoints(tmp_path):
    def count(text, lives):
        return states(run(tmp_path, toy.count_lives(text=toy.write(value=text).output(toy.Text), lives=lives)))

    for _ in range(2):
        assert count("hello", lives=3)["count_lives"] == "failed"
    # With another input it is another step, with its own checkpoints.
    assert count("howdy", lives=2)["count_lives"] == "failed"
    assert len(list((tmp_path / ".unfinished").iterdir())) == 2
    assert count("hello", lives=3)["count_lives"] == "ran"
    assert (tmp_path / "logs" / "4" / "count_lives" / "note").read_text() == "life 3"
    assert len(list((tmp_path / ".unfinished").iterdir())) == 1, "checkpoints of another step stay"


def test_checkpoints_are_as_old_as_their_newest_file(tmp_path):
    run(tmp_path, toy.write())
    checkpoint = tmp_path / ".unfinished" / "train-0123456789ab" / "seed-0" / "checkpoint"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    for folder in (checkpoint.parent, checkpoint.parents[1]):
        os.utime(folder, (0, 0))
    run(tmp_path, toy.write())
    assert checkpoint.exists(), "a long training began long ago and has saved just now"
    os.utime(checkpoint, (0, 0))
    run(tmp_path, toy.write())
    assert not checkpoint.parents[1].exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run(tmp_path, number):
    driven = SubprocessRun(tmp_path)
    os.killpg(driven.process.pid, number)
    output = driven.process.communicate(timeout=10)[0]
    assert driven.process.returncode == 130, output
    assert output.splitlines()[-1] == (
        "Interrupted. The same command goes on: finished steps are kept, trainings have checkpoints."
    )
    assert "Traceback" not in output
    assert not (driven.root / ".staging").exists()
    driven.assert_children_end()
    driven.assert_it_goes_on("interrupted")


def test_a_second_run_on_a_busy_root(tmp_path):
    driven = SubprocessRun(tmp_path)
    with pytest.raises(InputError, match=f"process {driven.process.pid}"):
        run(driven.root, chain("hello"))
    assert all(map(toy.is_running, driven.pids))
    driven.process.kill()
    driven.process.communicate(timeout=10)
    driven.assert_children_end()


@pytest.mark.parametrize("whole_tree", [False, True])
def test_a_killed_run_goes_on_after_its_last_step(tmp_path, whole_tree):
    driven = SubprocessRun(tmp_path)
    for pid in (*driven.pids * whole_tree, driven.process.pid):
        os.kill(pid, signal.SIGKILL)
    driven.process.communicate(timeout=10)
    driven.assert_children_end()
    driven.assert_it_goes_on("interrupted")


def test_killed_at_any_moment(tmp_path):
    root = tmp_path / "root"
    command = [sys.executable, "-m", "tests.pipeline.orchestrator.drive", str(root), "well", ""]
    for delay in (0.15, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4):
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        process.wait()
        if (root / "metadata.sqlite").exists():
            for published in Store(root, create=False).artifacts():
                assert toy.Text(root / str(published.artifact.path)).is_intact()
    assert run(root, *toy.misbehaving("well")).state == "done"
    assert {p.relative_to(root).as_posix() for p in (root / "artifacts").glob("*/*")} == Store(root).paths()


def test_a_list_of_inputs_runs_each_node_for_itself(tmp_path):
    def joined(*values):
        nodes = [toy.write(value=value) for value in values]
        for number, node in enumerate(nodes):
            node.name = f"write-{number}"
        return Pipeline("joined", [toy.join(parts=[node.output(toy.Text) for node in nodes])])

    first = run_pipeline(joined("a", "b"), tmp_path, preload=())
    assert first.step("join").outputs["whole"].read() == "a+b"
    again = run_pipeline(joined("a", "b", "c"), tmp_path, preload=())
    assert [step.state for step in again.steps] == ["cached", "cached", "ran", "ran"]
    assert again.step("join").outputs["whole"].read() == "a+b+c"
    swapped = run_pipeline(joined("b", "a"), tmp_path, preload=())
    assert swapped.step("join").outputs["whole"].read() == "b+a"
