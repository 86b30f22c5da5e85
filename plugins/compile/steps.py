"""The steps of a job as commands of containers, with the resources that they need."""

import contextlib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from components.dsl.component import Node
from components.dsl.errors import InputError
from components.objects.hub import is_hub_address
from pipeline.commands.command import PROGRAM
from pipeline.job.files import PATHS
from pipeline.machine import Machine, Need
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.opening import has_store, open_store
from pipeline.orchestrator.runner import plan_of
from pipeline.settings.schema import Settings

# A step needs more memory for more data than it had when it was measured.
_MEMORY_FACTOR = 1.5
_GIGABYTE = 1e9
_LONGEST_NAME = 63


class Resources(NamedTuple):
    """The resources of a container; None where nothing is known."""

    cores: int | None = None
    gigabytes: float | None = None
    gpus: int = 0


class CompiledStep(NamedTuple):
    """One step as an orchestrator runs it; `name`: a name of lower-case letters, digits and hyphens."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...]
    resources: Resources


class CompiledJob(NamedTuple):
    """A job for an orchestrator.

    Attributes:
        image: the container image that has this project; empty for the orchestrator's own machines.
        root: the folder of artifacts, under this path in each container, or its address in object storage.
        claim: the Kubernetes volume claim that is mounted as the root; empty if the cluster mounts the root by itself.
        retries: number of restarts of a step whose container was lost.
    """

    name: str
    steps: tuple[CompiledStep, ...]
    image: str
    root: str
    claim: str
    retries: int


class CompileOptions(NamedTuple):
    """Options of the compilation; `overrides`: settings that replace settings of the job file, as `key=value`."""

    job_file: str
    overrides: tuple[str, ...]
    root: str
    image: str
    claim: str
    gpus: int


def hub_overrides(settings: Settings) -> list[str]:
    """Overrides that pin addresses on the hub to their commits, for processes that read the job on other machines."""
    values = ((f"{table}.{key}", getattr(getattr(settings, table, None), key, None)) for table, key in PATHS)
    return [f"{name}={value}" for name, value in values if isinstance(value, str) and is_hub_address(value)]


def compile_steps(
    pipeline: Pipeline, machine: Machine, needs: Mapping[str, Need], options: CompileOptions
) -> CompiledJob:
    """The job as commands."""
    plan = plan_of(pipeline.nodes)
    names = {node.name: container_name(node.name) for node in pipeline.nodes}
    # The container is the place where a step runs.
    here = [*(["machine.launch=[]"] if machine.launch else []), *(['machine.python=""'] if machine.python else [])]
    arguments = [_checked("--job", options.job_file)] if options.job_file else []
    arguments += [part for value in (*options.overrides, *here) for part in ("--set", _checked("--set", value))]
    steps = tuple(
        CompiledStep(
            name=names[node.name],
            command=(PROGRAM, "step", node.name, *arguments, "--root", options.root),
            after=tuple(names[source] for source in plan[node.name]),
            resources=_resources(node, machine, needs, options.gpus),
        )
        for node in pipeline.nodes
    )
    root, image = _checked("--root", options.root), _checked("--image", options.image)
    return CompiledJob(container_name(pipeline.name), steps, image, root, options.claim, machine.retries)


def container_name(name: str) -> str:
    """A name as Kubernetes takes it: lower-case letters, digits and hyphens, at most 63."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-")


def find_needs(root: Path, pipeline: Pipeline) -> dict[str, Need]:
    """What the components of a job used in its newest run in a root; empty if the root is none."""
    if not has_store(root):
        return {}
    with contextlib.closing(open_store(root, create=False)) as store:
        components = {node.component.name for node in pipeline.nodes}
        last = {name: store.last_ran(name, pipeline.name) for name in components}
    return {name: run.need for name, run in last.items() if run is not None and run.need is not None}


def _checked(flag: str, text: str) -> str:
    # Values and statements of templates, and Jinja's comments, which Airflow drops without a word.
    if any(start in text for start in ("{{", "{%", "{#")):
        raise InputError(f"{flag} must hold no braces that orchestrators replace, got {text!r}")
    return text


def _resources(node: Node, machine: Machine, needs: Mapping[str, Need], gpus: int) -> Resources:
    """What the component used before, with some room; else what the settings give to all parallel steps."""
    gpus = gpus if node.component.kind == "training" else 0
    need = needs.get(node.component.name)
    if need is not None:
        gigabytes = math.ceil(10 * _MEMORY_FACTOR * need.memory / _GIGABYTE) / 10
        return Resources(max(1, round(need.cores)), gigabytes, gpus)
    cores = None if machine.cores is None else max(1, round(machine.cores))
    return Resources(cores, machine.memory_gigabytes, gpus)
