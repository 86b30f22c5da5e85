"""What searches find, as records that `search.json` holds."""

import dataclasses
from typing import Any, NamedTuple

from components.artifacts.evaluation import SeedScores
from plugins.search.halving import Round
from plugins.search.limits import Miss
from plugins.search.space import SearchStage
from plugins.search.study import Level, Sampler, Trial


@dataclasses.dataclass(kw_only=True)
class SearchResult:
    """What a search has found so far."""

    name: str
    seeds: int
    minutes: float
    metric: str = ""
    rows: int = 0
    seconds: float = 0.0


class Finalist(NamedTuple):
    """Values of settings that were trained with all seeds, and their validation scores."""

    values: dict[str, Any]
    score: SeedScores


class Winner(NamedTuple):
    """The name of the best finalist, and its values."""

    name: str
    values: dict[str, Any]


class SettingWorth(NamedTuple):
    """What the trials say of a setting."""

    job: Any
    importance: float | None
    levels: list[Level]


class StageResult(NamedTuple):
    """What the search for the settings of one model found."""

    metric: str
    rows: int
    winner: Winner
    later: list[str]
    finalists: dict[str, Finalist]
    job_score: float
    trials: list[Trial]
    settings: dict[str, SettingWorth]


@dataclasses.dataclass(kw_only=True)
class SettingsResult(SearchResult):
    """The result of a search for settings; `values` are the winners' values that differ from the job's."""

    sampler: Sampler
    stages: dict[SearchStage, StageResult]
    values: dict[str, Any]


class Rung(NamedTuple):
    """The teacher or a trained candidate: its share of the teacher's score, and of the job's distillation."""

    megabytes: float
    download_megabytes: float
    milliseconds: dict[str, float]
    score: SeedScores
    share: float
    trained: float
    on_front: bool = False


class RoundResult(NamedTuple):
    """The scores of a round of successive halving, whose candidates trained for a share of the job's distillation."""

    share: float
    scores: dict[str, float]


@dataclasses.dataclass(kw_only=True)
class StudentResult(SearchResult):
    """What a search for a model within limits has found so far; before there is a plan, no time is `expected`."""

    lengths: list[int]
    limits: dict[str, float]
    rungs: dict[str, Rung] = dataclasses.field(default_factory=dict)
    rounds: list[RoundResult] = dataclasses.field(default_factory=list)
    planned: tuple[Round, ...] = ()
    expected: float | None = None
    winner: str = ""
    tables: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    test: dict[str, Any] | None = None
    missed: list[Miss] = dataclasses.field(default_factory=list)
    refused: str = ""
    pushed: str = ""

    def reasons(self) -> list[str]:
        """The reasons why nothing was pushed; empty if a model was pushed."""
        return [*(miss.describe() for miss in self.missed), *([self.refused] if self.refused else [])]


AnyResult = SettingsResult | StudentResult
