"""A root and data in a fake server of Google Cloud Storage; needs the packages of requirements/gcs.lock, and go."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from components.dsl.errors import InputError
from components.objects.store import ObjectStore
from components.sources.checkpoint import Checkpoint
from tests.keras_bert.interop.checkpoints import copy_golden
from tests.processes import free_port
from tests.tiny_job import write_job

pytestmark = pytest.mark.gcs

BUCKET, TOY = "robustness", "tests.robustness.crash.toy_pipeline"


@pytest.fixture(scope="module")
def server():
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-external-url", url]
    process = subprocess.Popen([os.environ["GCS_SERVER"], *options], stderr=subprocess.DEVNULL)
    try:
        body = json.dumps({"name": BUCKET}).encode()
        request = urllib.request.Request(f"{url}/storage/v1/b", body, {"Content-Type": "application/json"})
        deadline = time.monotonic() + 20
        while True:
            try:
                urllib.request.urlopen(request, timeout=5).close()
                break
            except urllib.error.URLError:
                assert time.monotonic() < deadline, "the server must start"
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def address(server, tmp_path, monkeypatch):
    """This process uses the server; returns an address that no other test uses."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server)
    monkeypatch.setenv("KERAS_BERT_EDGE_CACHE", str(tmp_path / "cache"))
    return f"gs://{BUCKET}/{tmp_path.name}"


def start(cache, *arguments, module="pipeline", **variables):
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "KERAS_BERT_EDGE_CACHE": str(cache), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(cache, *arguments, status=0, **variables):
    process = start(cache, *arguments, **variables)
    output = process.communicate(timeout=200)[0]
    assert process.returncode == status, output
    return output


def test_objects_are_written_read_and_removed(address, tmp_path):
    store = ObjectStore(address)
    (tmp_path / "file").write_bytes(b"x" * 300_000)
    store.upload(tmp_path / "file", "folder/inner/file")
    store.write("text", b"one")
    assert (store.create("text", b"one"), store.create("text", b"two"), store.read("text")) == (True, False, b"one")
    assert (store.children(), store.children("folder")) == (["folder", "text"], ["inner"])
    assert {name: state.size for name, state in store.find_all().items()} == {"folder/inner/file": 300_000, "text": 3}
    store.download("folder/inner/file", tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_size == 300_000
    store.remove(["text", "none"])
    assert (store.state("text"), store.read("text"), store.children()) == (None, None, ["folder"])


def test_conditional_creation_has_one_winner(address):
    wins = []

    def create(number):
        if ObjectStore(address).create("name", str(number).encode()):
            wins.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) == 1
    assert ObjectStore(address).read("name") == str(wins[0]).encode()


def test_a_bucket_that_does_not_exist_takes_nothing(address, tmp_path):
    (tmp_path / "file").touch()
    store = ObjectStore("gs://no-such-bucket/x")
    for write in (
        lambda: store.write("name", b""),
        lambda: store.create("name", b""),
        lambda: store.upload(tmp_path / "file", "name"),
    ):
        with pytest.raises(InputError, match="must lie in a bucket that exists"):
            write()


def test_two_machines_start_the_same_job_at_once(address, tmp_path):
    processes = [start(tmp_path / name, address, str(tmp_path / "kept"), module=TOY) for name in ("a", "b")]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    made = [name for name in ObjectStore(address).find_all("artifacts") if name.endswith("manifest.json")]
    assert len(made) == len({name.rsplit("/", 2)[0] for name in made}) == 8, "each step ran once"
    assert not [*ObjectStore(address).find_all("leases"), *ObjectStore(address).find_all("heartbeats")]


def test_a_step_is_done_for_another_machine(address, tmp_path):
    step = ("step", "ingest_corpus", str(write_job(tmp_path / "job")), "--run", "monday", "--root", f"{address}/root")
    assert "was done before" not in run(tmp_path / "one", *step)
    assert "ingest_corpus was done before" in run(tmp_path / "other", *step)
    assert "│ tiny (monday) │ running " in run(tmp_path / "third", "show", "--root", f"{address}/root")


def test_a_checkpoint_has_the_key_of_a_local_one(address, tmp_path):
    folder = copy_golden("hugging_face_bert_model", tmp_path)
    for file in folder.iterdir():
        ObjectStore(address).upload(file, f"bert/{file.name}")
    assert Checkpoint(f"{address}/bert").fingerprint() == Checkpoint(str(folder)).fingerprint()


@pytest.mark.parametrize(
    ("root", "variables", "message"),
    [
        (f"gs://{BUCKET}/x", {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}, "must be reachable"),
        (f"gs://{BUCKET}/never", {}, "nothing is there"),
        (f"gs://{BUCKET}/x", {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent.json"}, "must be a file that exists"),
    ],
)
def test_bad_roots_are_refused_in_one_line(address, tmp_path, root, variables, message):
    output = run(tmp_path, "show", "--root", root, status=2, **variables)
    assert message in " ".join(output.split())
    assert output.count("\n") <= 4, output


@pytest.mark.parametrize("status", [401, 403])
def test_credentials_that_the_server_refuses(tmp_path, status):
    """The fake server takes all credentials; this one takes none, in the words of Google's."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"error": {"code": status, "message": "Anonymous caller does not have access"}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.do_GET()

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        output = run(tmp_path, "show", "--root", f"gs://{BUCKET}/x", status=2, STORAGE_EMULATOR_HOST=url)
        server.shutdown()
    assert "must be open to these credentials" in " ".join(output.split())
    assert output.count("\n") <= 4, output
