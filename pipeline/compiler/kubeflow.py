"""A job as a pipeline of Kubeflow Pipelines, version 2: the YAML of its intermediate representation.

Format: kfp_pipeline_spec's `PipelineSpec`, schema version 2.1.0, and kfp-kubernetes' platform specification.
"""

from typing import Any

import yaml

from pipeline.compiler.steps import CompiledJob, CompiledStep, Resources

_SCHEMA, _SDK = "2.1.0", "kfp-2.17.3"
# Kubeflow replaces it with the identifier of the run.
_RUN = "{{$.pipeline_job_uuid}}"


def to_kubeflow(job: CompiledJob) -> str:
    """The YAML file that Kubeflow's page and client take."""
    pipeline = {
        "components": {f"comp-{step.name}": {"executorLabel": f"exec-{step.name}"} for step in job.steps},
        "deploymentSpec": {"executors": {f"exec-{step.name}": _executor(job, step) for step in job.steps}},
        "pipelineInfo": {"name": job.name},
        "root": {"dag": {"tasks": {step.name: _task(job, step) for step in job.steps}}},
        "schemaVersion": _SCHEMA,
        "sdkVersion": _SDK,
    }
    documents = [pipeline, *([_mounts(job)] if job.claim else [])]
    return yaml.safe_dump_all(documents, sort_keys=False, width=120)


def _executor(job: CompiledJob, step: CompiledStep) -> dict[str, Any]:
    resources = _resources(step.resources)
    container = {"image": job.image, "command": [*step.command, "--run", _RUN]}
    return {"container": container | ({"resources": resources} if resources else {})}


def _resources(resources: Resources) -> dict[str, Any]:
    """The fields of `PipelineContainerSpec.ResourceSpec`: numbers for older servers, texts for newer ones."""
    content: dict[str, Any] = {}
    if resources.cores is not None:
        content |= {f"cpu{kind}": float(resources.cores) for kind in ("Limit", "Request")}
        content |= {f"resourceCpu{kind}": str(resources.cores) for kind in ("Limit", "Request")}
    if resources.gigabytes is not None:
        content |= {f"memory{kind}": float(resources.gigabytes) for kind in ("Limit", "Request")}
        content |= {f"resourceMemory{kind}": f"{resources.gigabytes:g}G" for kind in ("Limit", "Request")}
    if resources.gpus:
        kind, count = "nvidia.com/gpu", str(resources.gpus)
        content["accelerator"] = {"type": kind, "count": count, "resourceType": kind, "resourceCount": count}
    return content


def _task(job: CompiledJob, step: CompiledStep) -> dict[str, Any]:
    # Without `enableCache`: the step itself finds out whether it is done.
    task: dict[str, Any] = {"cachingOptions": {}, "componentRef": {"name": f"comp-{step.name}"}}
    if step.after:
        task["dependentTasks"] = list(step.after)
    if job.retries:
        task["retryPolicy"] = {"maxRetryCount": job.retries, "backoffDuration": "60s", "backoffFactor": 2.0}
    return task | {"taskInfo": {"name": step.name}}


def _mounts(job: CompiledJob) -> dict[str, Any]:
    """The volume of the root in all containers."""
    mount = {
        "constant": job.claim,
        "mountPath": job.root,
        "pvcNameParameter": {"runtimeValue": {"constant": job.claim}},
    }
    executors = {f"exec-{step.name}": {"pvcMount": [mount]} for step in job.steps}
    return {"platforms": {"kubernetes": {"deploymentSpec": {"executors": executors}}}}
