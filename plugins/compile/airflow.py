"""A job as a DAG of Apache Airflow: a Python file for its folder of DAGs, for Airflow 3."""

import shlex
from collections.abc import Iterator
from pprint import pformat
from typing import Any

from pipeline.orchestrator.step_command import RUN_VARIABLE
from plugins.compile.argo import resource_limits
from plugins.compile.steps import CompiledJob, CompiledStep

_HEADER = '''\
"""The job {name}, compiled by keras-bert-edge: each step is a task that runs one command."""

from airflow.sdk import DAG
{imports}

# Airflow replaces it with the identifier of the run.
RUN = {{"{variable}": "{{{{ run_id }}}}"}}

with DAG({name!r}, schedule=None, catchup=False, default_args={{"retries": {retries}}}) as dag:
'''
_BASH_IMPORTS = "from airflow.providers.standard.operators.bash import BashOperator"
_POD_IMPORTS = """\
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import models"""


def to_airflow(job: CompiledJob) -> str:
    """The Python file. With an image, each task is a pod; without, a command on Airflow's own workers."""
    imports = _POD_IMPORTS if job.image else _BASH_IMPORTS
    header = _HEADER.format(name=job.name, imports=imports, variable=RUN_VARIABLE, retries=job.retries)
    variables = {step.name: f"step_{step.name.replace('-', '_')}" for step in job.steps}
    lines = [line for step in job.steps for line in (_pod if job.image else _bash)(job, step, variables[step.name])]
    edges = {variables[step.name]: ", ".join(variables[name] for name in step.after) for step in job.steps}
    lines += [f"    [{sources}] >> {variable}" for variable, sources in edges.items() if sources]
    return header + "\n".join(lines) + "\n"


def _bash(job: CompiledJob, step: CompiledStep, variable: str) -> Iterator[str]:
    # A command that ends with `.sh` would be read as the name of a template.
    command = f"{shlex.join(step.command)} "
    yield f"    {variable} = BashOperator("
    yield f"        task_id={step.name!r}, env=RUN, append_env=True,"
    yield f"        bash_command={command!r},"
    yield "    )"


def _pod(job: CompiledJob, step: CompiledStep, variable: str) -> Iterator[str]:
    arguments: dict[str, Any] = {"image": job.image, "cmds": list(step.command)}
    yield f"    {variable} = KubernetesPodOperator("
    yield f"        task_id={step.name!r}, name={step.name!r}, env_vars=RUN,"
    for name, value in arguments.items():
        yield f"        {name}={pformat(value, width=100, compact=True)},"
    limits = resource_limits(step.resources)
    if limits:
        yield f"        container_resources=models.V1ResourceRequirements(requests={limits}, limits={limits}),"
    if job.claim:
        claim = f"models.V1PersistentVolumeClaimVolumeSource(claim_name={job.claim!r})"
        yield f"        volumes=[models.V1Volume(name='root', persistent_volume_claim={claim})],"
        yield f"        volume_mounts=[models.V1VolumeMount(name='root', mount_path={job.root!r})],"
    yield "    )"
