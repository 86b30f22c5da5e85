"""A root, data and pushed versions in a real server of S3; needs the packages of requirements/s3.lock."""

import os
import subprocess
import sys
import threading

import pytest
import yaml

from components.dsl.errors import InputError
from components.objects.downloads import local_folder
from components.objects.store import ObjectStore
from components.objects.versions import RemoteVersions
from components.sources.table import TableSource
from components.sources.text import TextSource
from tests.keras_bert.interop.checkpoints import copy_golden
from tests.plugins.remote_roots.s3.campaign import RemoteCampaign, snapshot
from tests.plugins.remote_roots.s3.crashes import remote_toy_job
from tests.plugins.remote_roots.s3.proxy import proxy
from tests.plugins.remote_roots.s3.server import BUCKET, client, environment, s3_server
from tests.robustness.crash.root_digests import untimed_results
from tests.tiny_job import write_job

pytestmark = pytest.mark.s3

TOY = "tests.robustness.crash.toy_pipeline"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def here(server, tmp_path, monkeypatch):
    """This process uses the server; returns an address that no other test uses."""
    for name, value in environment(server, tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"


def start(url, cache, *arguments, module="pipeline", **more):
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **environment(url, cache), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(url, cache, *arguments, status=0, module="pipeline", **more):
    process = start(url, cache, *arguments, module=module, **more)
    output = process.communicate(timeout=400)[0]
    assert process.returncode == status, output
    return output


def test_conditional_creation_has_one_winner(here):
    wins = []

    def create(name, number):
        if ObjectStore(here).create(str(name), str(number).encode()):
            wins.append((name, number))

    for name in range(10):
        threads = [threading.Thread(target=create, args=(name, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(name for name, _ in wins) == list(range(10))
    assert all(ObjectStore(here).read(str(name)) == str(number).encode() for name, number in wins)


def test_two_machines_that_push_at_once_get_two_numbers(here, tmp_path):
    numbers = []

    def push(name):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.bin").write_text(name)
        versions, digests = RemoteVersions(here), {"model.bin": name}
        numbers.append(versions.claim(digests))
        versions.upload(folder, numbers[-1], digests, {"edge_model": name})

    threads = [threading.Thread(target=push, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = RemoteVersions(here)
    assert sorted(numbers) == versions.numbers() == [1, 2, 3]
    assert versions.claim({"model.bin": "d"}) == 4
    assert versions.claim({"model.bin": "d"}) == 4, "a push that was killed goes on with its number"
    assert versions.numbers() == [1, 2, 3], "without a marker a version does not count"


def test_data_in_object_storage_has_the_keys_of_local_data(here, server, tmp_path):
    job = write_job(tmp_path / "job").parent
    for file in job.rglob("*"):
        if file.is_file():
            ObjectStore(here).upload(file, file.relative_to(job).as_posix())
    texts, rows = TextSource(f"{here}/texts"), TableSource(train=f"{here}/rows.tsv")
    assert texts.fingerprint() == TextSource(str(job / "texts")).fingerprint()
    assert rows.fingerprint() == TableSource(train=str(job / "rows.tsv")).fingerprint()
    assert TextSource(f"{here}/texts/*.txt").files() == texts.files()
    assert [doc.text for file in texts.files() for doc in texts.documents(file)]
    copies = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.t*")}
    assert texts.digests()
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.t*")} == copies, "once"
    client(server).put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/rows.tsv", Body=b"text\tlabel\na\tb\nc\td\n")
    assert rows.fingerprint() != TableSource(train=str(job / "rows.tsv")).fingerprint()


def test_a_checkpoint_in_object_storage_has_the_key_of_a_local_one(server, here, tmp_path):
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    for file in folder.iterdir():
        ObjectStore(here).upload(file, f"bert/{file.name}")
    (tmp_path / "rows.tsv").write_text("text\tlabel\n" + "a\tb\nc\td\n" * 20)
    job = tmp_path / "job.toml"
    job.write_text(f'name = "x"\nmax_length = 16\ncheckpoint.path = "{here}/bert"\nexamples.train = "rows.tsv"\n')
    step = ("step", "import_checkpoint", str(job), "--root", f"{here}/root")
    assert "import_checkpoint was done before" not in run(server, tmp_path / "cache", *step)
    assert "import_checkpoint was done before" in run(server, tmp_path / "other", *step)
    local = (*step, "--set", f"checkpoint.path={folder}")
    assert "import_checkpoint was done before" in run(server, tmp_path / "third", *local)
    assert not [*(tmp_path / "cache").rglob("*.bin")]
    missing = run(server, tmp_path / "third", *step, "--set", f"checkpoint.path={here}/brt", status=2)
    assert "brt must be a folder that exists, found nothing there" in " ".join(missing.split())


def test_two_machines_start_the_same_job_at_once(server, tmp_path):
    address = f"s3://{BUCKET}/{tmp_path.name}"
    processes = [start(server, tmp_path / name, address, str(tmp_path / "kept"), module=TOY) for name in ("a", "b")]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    places = [item["Key"] for item in client(server).list_objects_v2(Bucket=BUCKET, Prefix=tmp_path.name)["Contents"]]
    made = [place for place in places if "/artifacts/" in place and place.endswith("manifest.json")]
    assert len(made) == len({place.rpartition("/")[0].rpartition("/")[0] for place in made}) == 8, "each step ran once"
    assert not [place for place in places if "/leases/" in place or "/heartbeats/" in place]


def test_a_machine_that_was_killed_is_replaced_after_its_lease(server, tmp_path):
    address, kept = f"s3://{BUCKET}/{tmp_path.name}", str(tmp_path / "kept")
    first = start(server, tmp_path / "a", address, kept, module=TOY, KERAS_BERT_EDGE_LEASE_SECONDS="3")
    s3 = client(server)
    while not s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{tmp_path.name}/leases/").get("Contents"):
        assert first.poll() is None
    first.kill()
    first.wait()
    run(server, tmp_path / "b", address, kept, module=TOY, KERAS_BERT_EDGE_LEASE_SECONDS="3")
    status = run(server, tmp_path / "c", "show", "--root", address)
    assert [line.split("│")[3].strip() for line in status.splitlines() if "│ toy" in line] == ["done", "running"]


def test_a_finished_job_is_done_on_a_second_machine_without_its_models(server, tmp_path):
    job = write_job(tmp_path / "job")
    root = ("--root", f"s3://{BUCKET}/{tmp_path.name}")
    with proxy(server) as counter:
        first = run(counter.url, tmp_path / "one", "run", str(job), *root)
        counter.received = 0
        second = run(counter.url, tmp_path / "other", "run", str(job), *root)
        received = counter.received
    pushed = f"{root[1]}/pushed/tiny/1"
    assert f"pushed: {pushed}" in first
    assert f"pushed: {pushed}" in second
    models = sum(file.stat().st_size for file in (tmp_path / "one").rglob("model*"))
    # Mostly the log and figures for the page, whose size does not grow with the models.
    assert received < models, (received, models)
    names = {file.name for file in (tmp_path / "other").rglob("*")}
    assert not names & {"model.keras", "model.tflite", "model.onnx"}
    answer = run(server, tmp_path / "third", "predict", pushed, "the ship and the harbour")
    assert answer.strip().endswith("the ship and the harbour")


def test_compiled_steps_on_machines_of_their_own_make_what_a_run_makes(server, tmp_path):
    job, whole, root = write_job(tmp_path / "job"), tmp_path / "whole", f"s3://{BUCKET}/{tmp_path.name}"
    run(server, tmp_path / "here", "run", str(job), "--root", str(whole))
    compiled = ("--to", "argo", "--image", "image:1", "--out", str(tmp_path / "job.yaml"), "--root", root)
    run(server, tmp_path / "here", "compile", str(job), *compiled)
    (dag, *templates) = yaml.safe_load((tmp_path / "job.yaml").read_text())["spec"]["templates"]
    commands = {template["name"]: template["container"]["args"] for template in templates}
    done = set()
    while tasks := [task for task in dag["dag"]["tasks"] if task["name"] not in done]:
        # As Argo does: all steps whose inputs are done, at once, each on a machine that has nothing.
        ready = [task["name"] for task in tasks if done.issuperset(task.get("dependencies", ()))]
        steps = [
            start(server, tmp_path / name, *(text.replace("{{workflow.uid}}", "uid") for text in commands[name]))
            for name in ready
        ]
        outputs = [step.communicate(timeout=400)[0] for step in steps]
        assert [step.returncode for step in steps] == [0] * len(steps), outputs
        done.update(ready)
    status = run(server, tmp_path / "there", "show", "--root", root)
    assert [line.split("│")[2:4] for line in status.splitlines() if "│ tiny" in line] == [[" tiny (uid) ", " done  "]]
    with snapshot(server, tmp_path / "snapshot", root) as downloaded:
        assert untimed_results(downloaded) == untimed_results(whole)


def test_the_same_step_on_two_machines_at_once_runs_once(server, tmp_path):
    job, root = str(write_job(tmp_path / "job")), f"s3://{BUCKET}/{tmp_path.name}"
    step = ("step", "ingest_corpus", job, "--run", "monday", "--root", root)
    steps = [start(server, tmp_path / cache, *step) for cache in ("one", "other", "one")]
    outputs = [step.communicate(timeout=400)[0] for step in steps]
    assert [step.returncode for step in steps] == [0, 0, 0], outputs
    assert sum("was done before" in output for output in outputs) == 2, outputs
    status = run(server, tmp_path / "third", "show", "--root", root)
    assert len([line for line in status.splitlines() if "│ tiny (monday) " in line]) == 1
    assert not [*ObjectStore(root).find_all("leases"), *ObjectStore(root).find_all("heartbeats")]


def test_a_step_that_was_killed_is_run_elsewhere(server, tmp_path):
    job, root = str(write_job(tmp_path / "job")), f"s3://{BUCKET}/{tmp_path.name}"
    step = ("step", "ingest_corpus", job, "--run", "monday", "--root", root)
    killed = start(server, tmp_path / "one", *step, KERAS_BERT_EDGE_LEASE_SECONDS="3")
    while not client(server).list_objects_v2(Bucket=BUCKET, Prefix=f"{tmp_path.name}/leases/").get("Contents"):
        assert killed.poll() is None, killed.communicate()
    killed.kill()
    killed.wait()
    output = run(server, tmp_path / "other", *step, KERAS_BERT_EDGE_LEASE_SECONDS="3")
    assert "is running it; waiting for its result" in " ".join(output.split())
    assert f"{root}/artifacts/ingest_corpus/" in output.replace("\n", "")


@pytest.mark.parametrize(
    ("address", "more", "message"),
    [
        (f"s3://{BUCKET}/x", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "must be reachable"),
        ("s3://no-such-bucket/x", {}, "must lie in a bucket that exists"),
        ("ftp://bucket/x", {}, "must begin with s3:// or gs://"),
        (f"s3://{BUCKET}/never", {}, "nothing is there"),
    ],
)
def test_bad_roots_are_refused_in_one_line(server, tmp_path, address, more, message):
    output = run(server, tmp_path, "show", "--root", address, status=2, **more)
    assert message in output
    assert output.count("\n") <= 3, output


def test_wrong_credentials_are_refused(tmp_path, monkeypatch):
    # moto checks credentials after so many requests: one to find it, and one to make the bucket. MinIO always does.
    monkeypatch.setenv("INITIAL_NO_AUTH_ACTION_COUNT", "2")
    (tmp_path / "server").mkdir()
    job = str(write_job(tmp_path / "job"))
    with s3_server(tmp_path / "server") as url:
        for command in (
            ("show", "--root", f"s3://{BUCKET}/x"),
            ("run", job, "--root", f"s3://{BUCKET}/x"),
            ("run", job, "--root", str(tmp_path / "root"), "--set", f"corpus.path=s3://{BUCKET}/texts"),
        ):
            output = run(url, tmp_path / "cache", *command, status=2, AWS_SECRET_ACCESS_KEY="wrong")
            assert "must be open to these credentials" in " ".join(output.split()), output
            assert "Traceback" not in output
    assert not (tmp_path / "root").exists()


def test_a_few_kills_with_broken_connections(server, tmp_path):
    with proxy(server, share=0.4, seed=3) as connections:
        results = RemoteCampaign(remote_toy_job(), connections, server, tmp_path / "roots", seed=3).run(
            4, lambda results: None
        )
    assert results.is_clean, vars(results)
    assert results.kills.total() == 4
    assert connections.faults.total() > 0


def test_markers_of_folders_and_names_that_lead_out_of_one(server, here, tmp_path):
    for key in ("", "texts/", "texts/empty/", "texts/a.txt"):
        client(server).put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/{key}", Body=b"a text" if "." in key else b"")
    assert [*ObjectStore(here).find_all()] == ObjectStore(here).match("**") == ["texts/a.txt"]
    assert TextSource(f"{here}/texts").files() == TextSource(f"{here}/texts/*").files() == [f"{here}/texts/a.txt"]
    client(server).put_object(Bucket=BUCKET, Key=f"{tmp_path.name}/texts/../../outside", Body=b"door")
    with pytest.raises(InputError, match="must have a name without empty parts"):
        local_folder(f"{here}/texts")
    assert [*(tmp_path / "cache").rglob("*")] == []
