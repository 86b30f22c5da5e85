"""The table `[search]` of a job file."""

from pipeline.capability import Capability
from plugins.search.options import SearchSettings


class SearchCapability(Capability[SearchSettings]):
    """The values that the command `search` tries; the steps of a run do not read them."""

    name = "search"
    table = SearchSettings
    purpose = "the values that the command `search` tries for settings"
