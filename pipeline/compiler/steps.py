"""The steps of a job as commands of containers, with the resources that they need."""

import contextlib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from components.dsl.component import Node
from components.dsl.errors import InputError
from pipeline.machine import Machine, Need
from pipeline.orchestrator.graph import Pipeline
from pipeline.orchestrator.places import has_store, open_store
from pipeline.orchestrator.runner import plan_of

PROGRAM = "keras-bert-edge"
# A step needs more memory for more data than it had when it was measured.
_MEMORY_FACTOR = 1.5
_GIGABYTE = 1e9
_LONGEST_NAME = 63


class Resources(NamedTuple):
    """The resources of a container; None where nothing is known.

    Attributes:
        cores: number of cores.
        gigabytes: memory in gigabytes of 10^9 bytes.
        gpus: number of GPUs.
    """

    cores: int | None = None
    gigabytes: float | None = None
    gpus: int = 0


class CompiledStep(NamedTuple):
    """One step as an orchestrator runs it.

    Attributes:
        name: a name of lower-case letters, digits and hyphens.
        command: the command, without the identifier of the run.
        after: names of the steps that must be done before.
        resources: the resources of its container.
    """

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...]
    resources: Resources


class CompiledJob(NamedTuple):
    """A job for an orchestrator.

    Attributes:
        name: a name of lower-case letters, digits and hyphens.
        steps: all steps, each after those that it depends on.
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
    """Options of the compilation.

    Attributes:
        job_file: path of the job file in the containers; empty for the default job.
        overrides: settings that replace those of the job file, as `key=value`.
        root: see `CompiledJob`.
        image: see `CompiledJob`.
        claim: see `CompiledJob`.
        gpus: number of GPUs of each step that trains.
    """

    job_file: str
    overrides: tuple[str, ...]
    root: str
    image: str
    claim: str
    gpus: int


def compile_steps(
    pipeline: Pipeline, machine: Machine, needs: Mapping[str, Need], options: CompileOptions
) -> CompiledJob:
    """The job as commands.

    Args:
        pipeline: the pipeline of the job; seeds are nodes of their own.
        machine: gives retries, and the resources of steps that were not measured.
        needs: component -> what it used in an earlier run.
        options: where containers find the job.

    Raises:
        InputError: a path or an override holds braces that orchestrators replace.
    """
    plan = plan_of(pipeline.nodes)
    names = {node.name: container_name(node.name) for node in pipeline.nodes}
    steps = tuple(
        CompiledStep(
            name=names[node.name],
            command=_command(node, machine, options),
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
    """What the components of a job used in its newest run in a root; empty if the root is none.

    Args:
        root: the folder of runs.
        pipeline: the steps of the job.
    """
    if not has_store(root):
        return {}
    with contextlib.closing(open_store(root, create=False)) as store:
        components = {node.component.name for node in pipeline.nodes}
        last = {name: store.last_ran(name, pipeline.name) for name in components}
    return {
        name: Need(run.cost.cpu_seconds / max(run.seconds, 1e-3), run.cost.peak_bytes)
        for name, run in last.items()
        if run is not None and run.cost is not None
    }


def _command(node: Node, machine: Machine, options: CompileOptions) -> tuple[str, ...]:
    # The container is the place where the step runs.
    here = [*(["machine.launch=[]"] if machine.launch else []), *(['machine.python=""'] if machine.python else [])]
    overrides = [part for value in (*options.overrides, *here) for part in ("--set", _checked("--set", value))]
    job = [_checked("--job", options.job_file)] if options.job_file else []
    return (PROGRAM, "step", node.name, *job, *overrides, "--root", options.root)


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
