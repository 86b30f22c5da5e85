"""The steps of a pipeline that the user requests."""

import dataclasses

from components.dsl.component import Node
from components.dsl.errors import InputError, nearest
from pipeline.orchestrator.graph import Pipeline, sources_of


@dataclasses.dataclass(frozen=True)
class Request:
    """Requested steps by name; the default requests all steps that have changed.

    Attributes:
        to: run this step and the steps that it depends on only.
        since: run this step and all following steps again; the steps before it must be cached.
        force: run these steps again; following steps run again if the outputs differ.
        only: run this step and no other; the steps that it depends on must be cached.
    """

    to: str | None = None
    since: str | None = None
    force: tuple[str, ...] = ()
    only: str | None = None

    def check(self, pipeline: Pipeline) -> None:
        """Raises InputError for a name that is not a step of the request."""
        for flag, name in (("--to", self.to), ("STEP", self.only)):
            self._check_names(flag, [name] if name else [], pipeline.nodes)
        for flag, names in (("--from", [self.since] if self.since else []), ("--force", [*self.force])):
            self._check_names(flag, names, self.nodes(pipeline))

    def nodes(self, pipeline: Pipeline) -> tuple[Node, ...]:
        """The nodes that may run, in the order of the pipeline."""
        if self.only is not None:
            return tuple(node for node in pipeline.nodes if node.name == self.only)
        if self.to is None:
            return pipeline.nodes
        (last,) = (node for node in pipeline.nodes if node.name == self.to)
        return Pipeline(pipeline.name, [last]).nodes

    def again(self, pipeline: Pipeline) -> set[str]:
        """The names of the steps that run even if they are cached."""
        forced = set(self.force)
        if self.since is not None:
            forced |= _followers(self.nodes(pipeline), self.since)
        return forced

    def done(self, pipeline: Pipeline) -> set[str]:
        """The names of the steps that must be cached."""
        if self.since is None:
            return set()
        nodes = self.nodes(pipeline)
        return {node.name for node in nodes} - _followers(nodes, self.since) - set(self.force)

    def check_done(self, pipeline: Pipeline, name: str) -> None:
        """Raises InputError if a step must be cached; called for steps that are not."""
        if name in self.done(pipeline):
            raise InputError(f"--from needs the steps before it done, but {name} is not: without --from, it runs first")

    def _check_names(self, flag: str, names: list[str], nodes: tuple[Node, ...]) -> None:
        steps = [node.name for node in nodes]
        for name in names:
            if name not in steps:
                raise InputError(f"{flag} must name a step of the run, got {name!r}{nearest(name, steps)}")


def _followers(nodes: tuple[Node, ...], first: str) -> set[str]:
    """A step and all steps that depend on it; `nodes` are in topological order."""
    followers = {first}
    for node in nodes:
        if any(handle.node.name in followers for handle in sources_of(node)):
            followers.add(node.name)
    return followers
