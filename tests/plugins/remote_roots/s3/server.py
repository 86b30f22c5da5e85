"""A server of S3 on loopback: MinIO if the variable MINIO names its program, else moto's."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

from tests.processes import free_port

KEY, SECRET, BUCKET = "robustness", "robustness-secret", "robustness"
_START_SECONDS = 30.0


@contextlib.contextmanager
def s3_server(folder):
    """Runs a server with an empty bucket, and yields its URL.

    Args:
        folder: an empty folder for its data and its log.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            _command(folder, port),
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "MINIO_ROOT_USER": KEY, "MINIO_ROOT_PASSWORD": SECRET},
        )
        try:
            _wait_until_up(process, url, folder / "server.log")
            make_bucket(url)
            yield url
        finally:
            process.kill()
            process.wait()


def environment(url, cache):
    """The variables with which a process uses the server, and a cache of its own."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "KERAS_BERT_EDGE_CACHE": str(cache),
    }


def make_bucket(url, name=BUCKET):
    """Makes a bucket."""
    client(url).create_bucket(Bucket=name)


def client(url):
    """A client of botocore, which shares nothing with the code that is tested."""
    import botocore.session

    session = botocore.session.get_session()
    session.set_credentials(KEY, SECRET)
    return session.create_client("s3", region_name="us-east-1", endpoint_url=url)


def _command(folder, port):
    minio = os.environ.get("MINIO")
    if minio:
        return [minio, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder / "data")]
    return [sys.executable, "-m", "tests.plugins.remote_roots.s3.moto_server", str(port)]


def _wait_until_up(process, url, log):
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server of S3 must start, got {log.read_text(errors='replace')[-1000:]}")
