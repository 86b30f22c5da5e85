"""A job as a workflow of Argo Workflows (`argoproj.io/v1alpha1`)."""

from typing import Any

import yaml

from plugins.compile.steps import CompiledJob, CompiledStep, Resources

_ENTRY, _VOLUME = "job", "root"
# Argo replaces it with the identifier of the workflow.
_RUN = "{{workflow.uid}}"


def to_argo(job: CompiledJob) -> str:
    """The YAML file that `argo submit` takes."""
    tasks = [{"name": step.name, "template": step.name, "dependencies": list(step.after)} for step in job.steps]
    for task in tasks:
        if not task["dependencies"]:
            del task["dependencies"]
    spec: dict[str, Any] = {"entrypoint": _ENTRY}
    if job.claim:
        spec["volumes"] = [{"name": _VOLUME, "persistentVolumeClaim": {"claimName": job.claim}}]
    spec["templates"] = [{"name": _ENTRY, "dag": {"tasks": tasks}}, *(_template(job, step) for step in job.steps)]
    workflow = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": f"{job.name}-"},
        "spec": spec,
    }
    return yaml.safe_dump(workflow, sort_keys=False, width=120)


def _template(job: CompiledJob, step: CompiledStep) -> dict[str, Any]:
    program, *arguments = step.command
    container: dict[str, Any] = {"image": job.image, "command": [program], "args": [*arguments, "--run", _RUN]}
    limits = resource_limits(step.resources)
    if limits:
        container["resources"] = {"requests": limits, "limits": dict(limits)}
    if job.claim:
        container["volumeMounts"] = [{"name": _VOLUME, "mountPath": job.root}]
    template: dict[str, Any] = {"name": step.name, "container": container}
    if job.retries:
        # A lost container is an error; a step that ends by itself with a status would end so again.
        template["retryStrategy"] = {"limit": str(job.retries), "retryPolicy": "OnError"}
    return template


def resource_limits(resources: Resources) -> dict[str, str]:
    """The resources as Kubernetes names them."""
    limits = {}
    if resources.cores is not None:
        limits["cpu"] = str(resources.cores)
    if resources.gigabytes is not None:
        limits["memory"] = f"{resources.gigabytes:g}G"
    if resources.gpus:
        limits["nvidia.com/gpu"] = str(resources.gpus)
    return limits
