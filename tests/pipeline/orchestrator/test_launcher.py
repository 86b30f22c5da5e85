import json
import os
import shutil

import pytest

from components.artifacts.pushed import Pushed
from components.artifacts.standard import TaskExamples
from components.dsl.artifact import Artifact
from components.dsl.errors import InputError
from pipeline.orchestrator.executor import wait_for_any
from pipeline.orchestrator.launcher import Launcher, StepError, check_node
from pipeline.orchestrator.observer import Watcher
from pipeline.orchestrator.store import Store
from tests.pipeline.orchestrator import toy


class Life:
    """Runs nodes one by one, as the runner does."""

    def __init__(self, root):
        self.root = root
        self.store = Store(root)
        self.run_id = self.store.start_run("toy")
        self.launcher = Launcher(root, self.store, self.run_id, preload=())
        self.made = {}

    def plan(self, node):
        return self.launcher.plan(node, check_node(node), self.made)

    def run(self, node):
        plan = self.plan(node)
        self.made[node.name] = self.launcher.reuse(plan) if plan.hit else self.execute(plan)
        return self.made[node.name]

    def execute(self, plan, watcher=None):
        with self.launcher.launch(plan, watcher or Watcher()) as launched:
            outcome = None
            while outcome is None:
                (outcome,) = wait_for_any([launched.child])
            return self.launcher.publish(launched, outcome)

    def run_succession(self, value):
        """Runs a candidate, its comparison with the one kept before it, and what keeps it; gives the comparison."""
        (end,) = toy.succession(value, self.root / "kept")
        loud, verdict = end.inputs["candidate"].node, end.inputs["verdict"].node
        for node in (loud.inputs["text"].node, loud, verdict, end):
            self.run(node)
        return verdict

    def read(self, node, name):
        artifact = self.launcher.output(node, name, self.made[node.name][name])
        return str(artifact.read())


def write_in_format(version, folder):
    """Makes an artifact one that an earlier release wrote, whose format had another number."""
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format_version": version}))


@pytest.fixture
def life(tmp_path):
    return Life(tmp_path)


def test_a_miss_runs_and_is_published(life):
    node = toy.write(value="hi")
    stored = life.run(node)["text"]
    assert stored.path.startswith("artifacts/write/text-")
    assert life.read(node, "text") == "hi"
    assert life.launcher.output(node, "text", stored).manifest()["counts"] == {"letters": 2}
    assert list((life.root / ".staging").iterdir()) == []
    assert (life.root / "logs" / str(life.run_id) / "write.log").read_text() == "writing hi\n"


def test_the_same_is_a_hit_and_local_parameters_do_not_count(life):
    life.run(toy.write(value="hi", workers=1))
    assert life.plan(toy.write(value="hi", workers=7)).hit is not None
    assert life.plan(toy.write(value="ho")).hit is None


@pytest.mark.parametrize("harm", ["remove", "truncate", "edit", "manifest", "garbage", "format", "swap"])
def test_an_artifact_that_was_tampered_with_is_made_again(life, harm):
    node = toy.write(value="hi")
    stored = life.run(node)["text"]
    folder = life.root / str(stored.path)
    if harm == "remove":
        shutil.rmtree(folder)
    elif harm == "truncate":
        (folder / "text.txt").write_text("h")
    elif harm == "edit":
        (folder / "text.txt").write_text("ho")
    elif harm == "manifest":
        (folder / "manifest.json").unlink()
    elif harm == "garbage":
        (folder / "manifest.json").write_bytes(b"\xff\xfe[]")
    elif harm == "format":
        write_in_format(0, folder)
    else:
        toy.Text(folder).seal({"other": 1})
        (folder / "text.txt").write_text("ho")
        toy.Text(folder).seal({})
    plan = life.plan(node)
    assert plan.hit is None
    assert plan.note == "made before, but text was changed or removed on disk"
    assert life.run(node)["text"].path == stored.path
    assert life.read(node, "text") == "hi"
    assert life.plan(node).hit is not None


def test_a_lookup_is_stable_on_repetition(life):
    verdicts = [life.read(life.run_succession(value), "verdict") for value in "aabb"]
    assert verdicts == ["A! after nothing"] * 2 + ["B! after A!"] * 2
    assert [execution.state for execution in life.store.executions(1)][-4:] == ["cached"] * 4


def test_data_that_is_looked_up_is_recorded_as_the_users(life):
    life.run_succession("a")
    verdict = life.run_succession("b")
    plan = life.plan(verdict)
    assert plan.hit is not None
    file = str(life.root / "kept" / "000.kept")
    assert plan.ingredients.files == {"previous": {file: toy.File(file).fingerprint()}}
    (life.root / "kept" / "000.kept").write_text("another text")
    assert life.plan(verdict).hit is None, "it counts by its content"


def misbehave(life, how):
    first = toy.write()
    life.run(first)
    try:
        life.run(toy.behave(text=first.output(toy.Text), how=how))
    finally:
        assert list((life.root / ".staging").iterdir()) == []
        assert not (life.root / "artifacts" / "behave").exists()


def log_of(life):
    return life.root / "logs" / str(life.run_id) / "behave.log"


def test_input_error_leaves_no_log(life):
    with pytest.raises(InputError, match=r"^behave.how must be well, got input_error$"):
        misbehave(life, "input_error")
    assert not log_of(life).exists()


@pytest.mark.parametrize(
    ("how", "reason", "logged"),
    [
        ("crash", "KeyError: 'surprise'", "about to fail"),
        ("killed", "was killed by SIGKILL; the system may have run out of memory", ""),
        ("exit", "ended with exit code 3 before it was done", ""),
    ],
)
def test_a_crash_says_which_step_what_it_read_and_where_its_log_is(life, how, reason, logged):
    with pytest.raises(StepError) as caught:
        misbehave(life, how)
    message = str(caught.value)
    assert message.startswith(f"Step behave failed: {reason}\n")
    assert f"text = {life.root / 'artifacts' / 'write' / 'text-'}" in message
    assert f"log: {log_of(life)}" in message
    assert "run the same command again" in message
    assert logged in log_of(life).read_text()
    assert life.store.executions(life.run_id)[-1].message == reason


def test_a_full_disk(life):
    with pytest.raises(
        InputError, match=rf"^root must lie on a disk with space left, got {life.root}: behave: .*make room"
    ):
        misbehave(life, "disk_full")


def test_a_full_disk_while_publishing(life, monkeypatch):
    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pipeline.orchestrator.launcher.sync", full)
    with pytest.raises(InputError, match=r"space left, got .*: write: "):
        life.run(toy.write())
    assert not life.store.artifacts()


def test_data_that_changes_while_it_is_read_is_not_published(life, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"edit_while_loading.source changed while it was read"):
        life.run(toy.edit_while_loading(source=toy.File(str(path))))
    assert not life.store.artifacts()


def test_progress_reaches_the_watcher(life):
    class Notes(Watcher):
        def __init__(self):
            self.seen = []

        def progress(self, done, total, note):
            self.seen.append((done, total, note))
            if len(self.seen) == 3:
                raise KeyboardInterrupt

    first = toy.write()
    life.run(first)
    notes, trace = Notes(), life.root / "trace"
    plan = life.plan(toy.behave(text=first.output(toy.Text), how="slow", trace=str(trace)))
    with pytest.raises(KeyboardInterrupt):
        life.execute(plan, notes)
    assert notes.seen[0] == (0.0, 600.0, "sleeping")
    for name in ("trace", "trace.grandchild"):
        assert toy.ends(int((life.root / name).read_text()))


@pytest.mark.parametrize("kind", [Pushed, TaskExamples])
def test_what_an_earlier_release_wrote_in_another_format_is_not_used(tmp_path, kind):
    earlier = type(kind.__name__, (Artifact,), {"format_version": kind.format_version - 1})(tmp_path)
    (tmp_path / "pushed.json").write_text('{"path": "."}')
    earlier.seal({})
    assert earlier.is_intact()
    assert not kind(tmp_path).is_intact()
