import json
import socket

import pytest

from keras_bert.core.checks import FieldError
from keras_bert.training.cluster import Cluster, find_cluster

WORKERS = {"worker": ["a:1", "b:2"]}


def config(cluster, kind="worker", index=0):
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (config(WORKERS), 0),
        (config(WORKERS, index=1), 1),
        (config({"chief": ["a:1"], "worker": ["b:2"]}, "chief"), 0),
        (config({"worker": ["b:2"], "chief": ["a:1"]}, "worker"), 1),
    ],
)
def test_the_chief_is_first(content, place):
    cluster = find_cluster(content)
    assert cluster == Cluster(("a:1", "b:2"), place)
    assert cluster.is_chief == (place == 0)


@pytest.mark.parametrize("content", ["{}", config({"worker": ["a:1"]}), config({"ps": ["a:1"], "worker": ["b:1"]})])
def test_one_process_trains_alone(content):
    assert find_cluster(content) is None


def test_the_variable_is_read(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert find_cluster() is None
    monkeypatch.setenv("TF_CONFIG", config(WORKERS))
    assert find_cluster() == Cluster(("a:1", "b:2"), 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("workers", "TF_CONFIG must be a JSON object, got 'workers'"),
        ('{"cluster": ["a:1"]}', "TF_CONFIG.cluster must be a JSON object, got ['a:1']"),
        (
            config(WORKERS, index=2),
            "TF_CONFIG.task must name a process of TF_CONFIG.cluster by type and index, got "
            "{'type': 'worker', 'index': 2}",
        ),
    ],
)
def test_a_wrong_variable(content, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        find_cluster(content)
    assert str(error.value) == message


def test_a_port_in_use_is_one_line():
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        address = f"localhost:{other.getsockname()[1]}"
        with pytest.raises(FieldError, match="must name a free port of this machine for this process, got") as error:
            Cluster((address, "b:1"), 0).check_port()
    assert "\n" not in str(error.value)
    Cluster((address, "b:1"), 0).check_port()


@pytest.mark.parametrize("address", ["localhost", "localhost:http", "localhost:99999"])
def test_an_address_without_a_port(address):
    with pytest.raises(FieldError, match=r"TF_CONFIG\.cluster must"):
        Cluster((address, "b:1"), 0).check_port()
