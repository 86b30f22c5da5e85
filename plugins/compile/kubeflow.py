"""A job as a pipeline of Kubeflow Pipelines, version 2: the YAML of its intermediate representation.

Format: kfp_pipeline_spec's `PipelineSpec`, schema version 2.1.0, and kfp-kubernetes' platform specification.
"""

from typing import Any

import yaml

from plugins.compile.steps import CompiledJob, Resources

_SCHEMA, _SDK = "2.1.0", "kfp-2.17.3"
# Kubeflow replaces it with the identifier of the run.
_RUN = "{{$.pipeline_job_uuid}}"


def to_kubeflow(job: CompiledJob) -> str:
    """The YAML file that Kubeflow's page and client take."""
    executors, tasks = dict[str, Any](), dict[str, Any]()
    for step in job.steps:
        container: dict[str, Any] = {"image": job.image, "command": [*step.command, "--run", _RUN]}
        if resources := _resources(step.resources):
            container["resources"] = resources
        executors[f"exec-{step.name}"] = {"container": container}
        # Without `enableCache`: the step itself finds out whether it is done.
        task: dict[str, Any] = {"cachingOptions": {}, "componentRef": {"name": f"comp-{step.name}"}}
        if step.after:
            task["dependentTasks"] = list(step.after)
        if job.retries:
            task["retryPolicy"] = {"maxRetryCount": job.retries, "backoffDuration": "60s", "backoffFactor": 2.0}
        tasks[step.name] = task | {"taskInfo": {"name": step.name}}
    documents: list[dict[str, Any]] = [
        {
            "components": {f"comp-{step.name}": {"executorLabel": f"exec-{step.name}"} for step in job.steps},
            "deploymentSpec": {"executors": executors},
            "pipelineInfo": {"name": job.name},
            "root": {"dag": {"tasks": tasks}},
            "schemaVersion": _SCHEMA,
            "sdkVersion": _SDK,
        }
    ]
    if job.claim:
        # The volume of the root in all containers.
        mount = {
            "constant": job.claim,
            "mountPath": job.root,
            "pvcNameParameter": {"runtimeValue": {"constant": job.claim}},
        }
        mounts = {f"exec-{step.name}": {"pvcMount": [mount]} for step in job.steps}
        documents.append({"platforms": {"kubernetes": {"deploymentSpec": {"executors": mounts}}}})
    return yaml.safe_dump_all(documents, sort_keys=False, width=120)


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
