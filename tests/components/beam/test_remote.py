import socket
import subprocess
import sys

import pytest

from components.beam.engine import BeamOptions, run_over
from components.beam.remote import check_servers, make_project_check, translate_error
from components.dsl.errors import InputError
from tests.processes import free_port


@pytest.mark.parametrize("name", ["job_endpoint", "flink_master", "spark_master_url"])
def test_a_server_that_does_not_answer_is_one_line(name):
    address = f"localhost:{free_port()}"
    rule = rf"^BeamOptions.options.{name} must answer, got 'http://{address}': .*refused; start it, or correct \[beam"
    with pytest.raises(InputError, match=rule):
        run_over([1], lambda work: work, BeamOptions(runner="PortableRunner", options={name: f"http://{address}"}))


@pytest.mark.parametrize("address", ["localhost", ":1", "localhost:http", "spark://x"])
def test_an_address_without_a_port(address):
    with pytest.raises(InputError, match=r"job_endpoint must be host:port, got "):
        check_servers({"job_endpoint": address})


def test_servers_that_answer_and_engines_in_the_job_server_pass():
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_servers({"flink_master": f"127.0.0.1:{server.getsockname()[1]}", "job_endpoint": None})
    check_servers({"flink_master": "[auto]", "spark_master_url": "local[4]", "job_endpoint": "embed"})


CHECK = """
import pickle, sys
import cloudpickle
print(cloudpickle.loads(bytes.fromhex(sys.argv[1]))(7))
"""


def run_check(tmp_path, packages):
    import cloudpickle

    for package in packages:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    function = cloudpickle.dumps(make_project_check()).hex()
    libraries = [path for path in sys.path if "site-packages" in path]
    script = f"import sys; sys.path[:0] = {[str(tmp_path), *libraries]}\nsys.argv = ['', '{function}']\n{CHECK}"
    command = [sys.executable, "-I", "-S", "-c", script]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def test_the_same_project_passes():
    assert [make_project_check()(element) for element in (1, 2)] == [1, 2]


@pytest.mark.parametrize("packages", [(), ("components", "keras_bert")])
def test_another_project_or_none_is_found_where_it_is_installed(tmp_path, packages):
    done = run_check(tmp_path, packages)
    assert done.returncode == 1
    error = translate_error(RuntimeError(f"Pipeline job-1 failed:\n{done.stderr}"), "PortableRunner")
    assert isinstance(error, InputError)
    assert str(error).startswith("the workers of Beam must have this very project installed (code ")
    assert str(error).endswith("; pip install --force-reinstall its wheel there")
    assert ("got none on" in str(error)) == (not packages)


def test_a_lost_worker_may_be_tried_again_and_other_errors_stay():
    lost = translate_error(RuntimeError("Pipeline job-1 failed: SDK worker disconnected: worker[x]\nmore"), "Prism")
    assert isinstance(lost, ConnectionError)
    assert str(lost).startswith("the Beam pipeline on Prism lost a worker: Pipeline job-1")
    error = RuntimeError("division by zero")
    assert translate_error(error, "Prism") is error


def test_a_worker_process_sends_a_traceback_whose_last_line_is_the_error():
    lines = ["Traceback (most recent call last):", '  File "a.py", line 1, in b', ""]
    lost = translate_error(
        RuntimeError("\n".join([*lines, "TimeoutError: no answer [while running 'x']"])), "FnApiRunner"
    )
    assert type(lost) is TimeoutError
    assert str(lost) == "no answer [while running 'x']"
    other = translate_error(RuntimeError("\n".join([*lines, "KeyError: 'a'", ""])), "FnApiRunner")
    assert type(other) is RuntimeError
    assert str(other) == "KeyError: 'a'"
