"""The orchestrators that jobs are compiled for."""

from collections.abc import Callable

from components.dsl.errors import InputError, nearest
from plugins.compile.airflow import to_airflow
from plugins.compile.argo import to_argo
from plugins.compile.kubeflow import to_kubeflow
from plugins.compile.steps import CompiledJob

TARGETS: dict[str, Callable[[CompiledJob], str]] = {"kubeflow": to_kubeflow, "airflow": to_airflow, "argo": to_argo}
"""Orchestrator -> a function that writes a job for it."""

# These only run containers.
_NEED_IMAGE = ("kubeflow", "argo")


def check_target(name: str, image: str) -> None:
    """Checks the name of an orchestrator, and that there is an image if it needs one."""
    if name not in TARGETS:
        raise InputError(f"--to must be one of {', '.join(TARGETS)}, got {name!r}{nearest(name, TARGETS)}")
    if name in _NEED_IMAGE and not image:
        raise InputError(f"--image must be set for {name}, which runs steps in containers alone")
