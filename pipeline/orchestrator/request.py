"""Which steps of a pipeline are asked for."""

import dataclasses

from components.dsl.component import Node
from components.dsl.errors import InputError, nearest
from pipeline.orchestrator.graph import Pipeline, sources_of


@dataclasses.dataclass(frozen=True)
class Request:
    """Some steps by their names; nothing asks for all that has changed.

    Attributes:
        to: only this step and those that it needs.
        since: it and all that follow run again; those before it must be done.
        force: these run again; what follows does if their bytes are others.
    """

    to: str | None = None
    since: str | None = None
    force: tuple[str, ...] = ()

    def check(self, pipeline: Pipeline) -> None:
        """Raises InputError for a name that no asked step of the pipeline has."""
        self._known("--to", [self.to] if self.to else [], pipeline.nodes)
        named = [("--from", [self.since] if self.since else []), ("--force", [*self.force])]
        for flag, names in named:
            self._known(flag, names, self.nodes(pipeline))

    def nodes(self, pipeline: Pipeline) -> tuple[Node, ...]:
        """Those that may run, in the order of the pipeline."""
        if self.to is None:
            return pipeline.nodes
        (last,) = (node for node in pipeline.nodes if node.name == self.to)
        return Pipeline(pipeline.name, [last]).nodes

    def again(self, pipeline: Pipeline) -> set[str]:
        """The names of those that run even if they are done."""
        forced = set(self.force)
        if self.since is not None:
            forced |= _followers(self.nodes(pipeline), self.since)
        return forced

    def done(self, pipeline: Pipeline) -> set[str]:
        """The names of those that must be done before."""
        if self.since is None:
            return set()
        nodes = self.nodes(pipeline)
        return {node.name for node in nodes} - _followers(nodes, self.since) - set(self.force)

    def check_done(self, pipeline: Pipeline, name: str) -> None:
        """Raises InputError if a step that is not done must be."""
        if name in self.done(pipeline):
            raise InputError(f"--from needs the steps before it done, but {name} is not: without --from, it runs first")

    def _known(self, flag: str, names: list[str], nodes: tuple[Node, ...]) -> None:
        known = [node.name for node in nodes]
        for name in names:
            if name not in known:
                raise InputError(f"{flag} must name a step of the run, got {name!r}{nearest(name, known)}")


def _followers(nodes: tuple[Node, ...], first: str) -> set[str]:
    """A step and all that need it, directly or not; nodes stand after those that they need."""
    found = {first}
    for node in nodes:
        if any(handle.node.name in found for handle in sources_of(node)):
            found.add(node.name)
    return found
