"""A server of the Hugging Face hub's protocol on loopback, with the redirects, refusals and cuts of the real one."""

import base64
import contextlib
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from components.objects.hub import resolve_address

# Files of these kinds are stored by their SHA-256 on another host, as git LFS does.
LARGE = (".safetensors", ".bin", ".parquet", ".tflite", ".onnx", ".keras")


def git_digest(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class Repository:
    """Commits, each all files by name, and branches, each the commit that it stands at."""

    def __init__(self, files, *, needs="", gated=False):
        self.commits = {}
        self.branches = {}
        self.messages = []
        self.needs, self.gated = needs, gated
        self.commit(files)

    def commit(self, files, message="files"):
        content = repr((sorted((name, git_digest(data)) for name, data in files.items()), len(self.commits)))
        name = hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()
        self.commits[name] = dict(files)
        self.branches["main"] = name
        self.messages.append(message)
        return name


class Hub:
    """Repositories by `models/OWNER/NAME` or `datasets/OWNER/NAME`, what was requested, and what goes wrong.

    `cuts` are the numbers of bytes after which the next answers of large files end, one an answer. An answer that is to
    end after a negative number waits there, until the client is gone. The next `busy` requests of paths with
    `busy_paths` in them are refused, and the next `damages` large files are all zeros.
    """

    def __init__(self, url):
        self.url = url
        self.repositories = {}
        self.requests = []
        self.cuts = []
        self.busy = 0
        self.busy_paths = ""
        self.damages = 0
        self.large = {}

    def add(self, name, files, **settings):
        if isinstance(files, Path):
            files = {
                file.relative_to(files).as_posix(): file.read_bytes() for file in files.rglob("*") if file.is_file()
            }
        key = name if name.startswith("datasets/") else f"models/{name}"
        return self.repositories.setdefault(key, Repository(files, **settings))

    def downloads(self):
        """The names of the files whose content was asked for, in order."""
        return [path.rpartition("/resolve/")[2].partition("/")[2] for method, path, _ in self.requests
                if method == "GET" and "/resolve/" in path]  # fmt: skip


class HubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *arguments):
        """Prints nothing."""

    def answer(self, status, content=b"", **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        with contextlib.suppress(ConnectionError):
            self.handle_request()

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, dict(self.headers)))
        if self.hub.busy and self.hub.busy_paths in path:
            self.hub.busy -= 1
            return self.answer(429, b"busy", Retry_After="0")
        if path.startswith("/large/"):
            return self.send_large(path.rpartition("/")[2], body)
        if path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self.create(json.loads(body))
        if match := re.fullmatch(r"/(?:(datasets)/)?([^/]+/[^/]+?)\.git/info/lfs/objects/batch", path):
            return self.batch(json.loads(body))
        match = re.fullmatch(
            r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|preupload|commit)/([^/]+))?", path
        )
        resolve = re.fullmatch(r"/(?:(datasets)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if match is None and resolve is None:
            return self.answer(404, {"error": "unknown"})
        kind, name, *_ = (match or resolve).groups()
        repository = self.hub.repositories.get(f"{kind or 'models'}/{name}")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository is None or (repository.needs and not repository.gated and token != repository.needs):
            return self.answer(404 if token else 401, {"error": "not found"}, X_Error_Code="RepoNotFound")
        action, revision = ("revision", "main") if match is None else (match[3] or "revision", match[4] or "main")
        if resolve is not None:
            action, revision = "resolve", resolve[3]
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            return self.answer(404, {"error": "no revision"}, X_Error_Code="RevisionNotFound")
        if action == "resolve" and repository.gated and token != repository.needs:
            return self.answer(403, {"error": "gated"}, X_Error_Code="GatedRepo")
        files = repository.commits[commit]
        if action == "revision":
            siblings = [{"rfilename": name} for name in files]
            return self.answer(200, {"id": name, "sha": commit, "siblings": siblings})
        if action == "tree":
            return self.answer(200, [self.entry(name, content) for name, content in files.items()])
        if action == "preupload":
            return self.preupload(json.loads(body), files)
        if action == "commit":
            return self.commit(repository, f"{self.hub.url}/{name}", body)
        return self.resolve(commit, files.get(resolve[4]), resolve[4])

    def entry(self, name, content):
        """A file of a list; git knows a large one by the file that points to it."""
        entry = {"type": "file", "path": name, "size": len(content), "oid": git_digest(content)}
        if name.endswith(LARGE):
            sha256 = hashlib.sha256(content).hexdigest()
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(content)}\n"
            entry["oid"] = git_digest(pointer.encode())
            entry["lfs"] = {"oid": sha256, "size": len(content), "pointerSize": len(pointer)}
        return entry

    def resolve(self, commit, content, name):
        if content is None:
            return self.answer(404, {"error": "no file"}, X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
        if not name.endswith(LARGE):
            return self.answer(200, content, ETag=f'"{git_digest(content)}"', X_Repo_Commit=commit)
        sha256 = hashlib.sha256(content).hexdigest()
        self.hub.large[sha256] = content
        # Another host than the hub's: tokens must not be sent there.
        place = f"http://localhost:{urlsplit(self.hub.url).port}/large/{sha256}"
        linked = {"X_Linked_Etag": f'"{sha256}"', "X_Linked_Size": str(len(content))}
        return self.answer(302, b"", Location=place, X_Repo_Commit=commit, **linked)

    def send_large(self, sha256, body):
        if self.command == "PUT":
            self.hub.large[sha256] = body
            return self.answer(200)
        content = self.hub.large[sha256]
        if self.hub.damages:
            self.hub.damages -= 1
            content = bytes(len(content))
        start = int(match[1]) if (match := re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))) else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.command == "HEAD":
            return None
        end = self.hub.cuts.pop(0) if self.hub.cuts else len(content)
        self.wfile.write(content[start : start + abs(end)])
        self.wfile.flush()
        if end < 0:
            self.rfile.read(1)
        self.close_connection = abs(end) < len(content) - start
        return None

    def create(self, request):
        name = f"{request['organization']}/{request['name']}" if request.get("organization") else request["name"]
        key = f"{request.get('type', 'model')}s/{name}"
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            return self.answer(401, {"error": "Invalid username or password."})
        if key in self.hub.repositories:
            return self.answer(409, {"error": "exists", "url": f"{self.hub.url}/{name}"})
        self.hub.repositories[key] = Repository({}, needs=token if request["visibility"] == "private" else "")
        return self.answer(200, {"url": f"{self.hub.url}/{name}"})

    def preupload(self, request, files):
        answers = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                "shouldIgnore": False,
                "oid": self.remote_digest(file["path"], files),
            }
            for file in request["files"]
        ]
        return self.answer(200, {"files": answers})

    def remote_digest(self, name, files):
        if name not in files:
            return None
        entry = self.entry(name, files[name])
        return str(entry["lfs"]["oid"] if "lfs" in entry else entry["oid"])

    def batch(self, request):
        objects = [
            item
            if item["oid"] in self.hub.large
            else {**item, "actions": {"upload": {"href": f"{self.hub.url}/large/{item['oid']}", "header": {}}}}
            for item in request["objects"]
        ]
        return self.answer(200, {"transfer": "basic", "objects": objects})

    def commit(self, repository, page, body):
        files, message = dict(repository.commits[repository.branches["main"]]), ""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        name = repository.commit(files, message)
        return self.answer(200, {"commitUrl": f"{page}/commit/{name}", "commitOid": name})


@contextlib.contextmanager
def serve_hub():
    """A hub that answers until the end of the block."""
    handler = type("Handler", (HubHandler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub = handler.hub = Hub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def hub_variables(hub, cache):
    """The environment of a process that uses the hub, with caches of its own."""
    return {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(cache),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "KERAS_BERT_EDGE_CACHE": str(cache / "own"),
    }


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that the client of this process uses; it reads its variables at its import only."""
    from huggingface_hub import constants
    from huggingface_hub.utils import _http, close_session, disable_progress_bars, enable_progress_bars

    with serve_hub() as server:
        cache = tmp_path / "hub"
        for name, value in hub_variables(server, cache).items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        origin = _http._url_origin(server.url)
        monkeypatch.setattr(_http, "_HUB_ORIGINS", frozenset({origin}))
        settings = {
            "ENDPOINT": server.url,
            "HF_HOME": str(cache),
            "HF_HUB_CACHE": str(cache / "hub"),
            "HF_TOKEN_PATH": str(cache / "token"),
            "HF_HUB_DISABLE_XET": True,
            "HF_HUB_OFFLINE": False,
            "HUGGINGFACE_CO_URL_TEMPLATE": server.url + "/{repo_id}/resolve/{revision}/{filename}",
        }
        for name, value in settings.items():
            monkeypatch.setattr(constants, name, value)
        close_session()
        disable_progress_bars()
        resolve_address.cache_clear()
        yield server
        enable_progress_bars()
        close_session()
