"""The processes that train together, as `TF_CONFIG` names them; needs no TensorFlow."""

import dataclasses
import json
import os
import socket

from keras_bert.core.checks import FieldError

TF_CONFIG = "TF_CONFIG"
# In this order: without a chief, the first worker is it (TensorFlow's guide to distributed training).
_KINDS = ("chief", "worker")


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Processes that train one model, by their `host:port`, the chief first, and the place of this one among them."""

    addresses: tuple[str, ...]
    index: int

    @property
    def is_chief(self) -> bool:
        """Whether this process writes results."""
        return self.index == 0

    def describe(self, index: int) -> str:
        """A process in words."""
        return f"{f'worker {index}' if index else 'the chief'} ({self.addresses[index]})"

    def check_port(self) -> None:
        """Checks that the port of this process is free.

        TensorFlow would share a port with another of its servers, and then wait without end.
        """
        address = self.addresses[self.index]
        port = address.rpartition(":")[2]
        if not port.isdecimal():
            raise FieldError(TF_CONFIG, "cluster", "have addresses of the form host:port", address)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", int(port)))
            except (OSError, OverflowError) as error:
                rule, hint = (
                    "name a free port of this machine for this process",
                    "end that program or take another port",
                )
                raise FieldError(TF_CONFIG, "cluster", rule, address, f" ({error}); {hint}") from None


def find_cluster(tf_config: str | None = None) -> Cluster | None:
    """The processes of `TF_CONFIG`, or of such JSON, that train together; None if this one trains alone."""
    text = os.environ.get(TF_CONFIG, "{}") if tf_config is None else tf_config
    try:
        content = json.loads(text)
    except json.JSONDecodeError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"TF_CONFIG must be a JSON object, got {text!r}")
    for part in ("cluster", "task"):
        if not isinstance(content.get(part, {}), dict):
            raise ValueError(f"TF_CONFIG.{part} must be a JSON object, got {content[part]!r}")
    cluster, task = content.get("cluster", {}), content.get("task", {})
    groups = {kind: cluster.get(kind, []) for kind in _KINDS}
    addresses = tuple(address for group in groups.values() for address in group)
    if len(addresses) < 2:
        return None
    kind, index = task.get("type"), task.get("index")
    if kind not in _KINDS or not isinstance(index, int) or not 0 <= index < len(groups[kind]):
        raise ValueError(f"TF_CONFIG.task must name a process of TF_CONFIG.cluster by type and index, got {task!r}")
    return Cluster(addresses, index + (len(groups["chief"]) if kind == "worker" else 0))
