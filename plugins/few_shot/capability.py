"""The capability `few_shot`: its settings, its checks, and the steps that make the teacher."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pydantic

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Handle, Node
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.examples.row_traits import RowTraits
from components.examples.source_rows import AnySource
from components.fine_tune import fine_tune
from components.training.tuning import HeadSettings
from keras_bert.core.validation import validated_dataclass
from keras_bert.options.tables import FineTuningSettings
from pipeline.capability import Capability
from pipeline.nodes import TuningInputs, append_name, append_seed, seeded
from pipeline.proposal import RECIPE, Proposal, Setting, SettingsTable, propose_class_weights
from pipeline.settings.schema import Settings
from plugins.few_shot.fit_head import fit_head
from plugins.few_shot.pair_examples import pair_examples
from plugins.few_shot.paired_rows import PAIRED_TASKS, check_pairable

# `[few_shot]` is proposed for up to this many rows a label: twice as many as were measured (docs/accuracy.md).
_FEW_ROWS = 16
# Pairs of each kind for a row (Tunstall et al. 2022, released code), and pairs in all for a training of minutes. Where
# more would be needed, there are none: with fewer for each row, only fitting the head was better (docs/accuracy.md).
_PAIRS, _MOST_PAIRS, _PAIRS_BATCH_SIZE = 20, 5_000, 16


@validated_dataclass
class FewShot:
    """Settings of fine-tuning on few rows, known as SetFit (Tunstall et al. 2022, section 3).

    The encoder learns from pairs of rows: the target of the cosine is 1 for equal labels and 0 for different labels.
    Then the encoder is frozen, and a logistic regression on its vectors becomes the head.

    Attributes:
        pairs: number of pairs with the same label that each training row starts, and as many with another label
            (`num_iterations` in the released code), 0 to 1000. With 0 the encoder does not learn, and the head is
            fitted to the vectors of the initial model.
        l2: L2 penalty of the head, above 0: the loss is the sum over rows plus l2 / 2 times the sum of squared weights
            (1 / C of scikit-learn's `LogisticRegression`).
    """

    pairs: Annotated[int, pydantic.Field(ge=0, le=1000)] = 20
    l2: pydantic.PositiveFloat = 1.0


class FewShotCapability(Capability[FewShot]):
    """The encoder learns from pairs of rows, then a head is fitted to its vectors."""

    name = "few_shot"
    table = FewShot
    purpose = (
        "fine-tuning of classification on few rows of each label: with the settings of `fine_tuning` the encoder "
        "learns from pairs of rows, then a head is fitted. Without it, both learn together."
    )

    def check_tables(self, table: FewShot, settings: Settings) -> None:
        source = settings.examples
        assert source is not None
        if source.task not in PAIRED_TASKS:
            named = " and ".join(PAIRED_TASKS)
            raise InputError(f"few_shot is only allowed for {named}, got it for {source.task}")
        second_text = getattr(source, "second_text", None)
        if second_text is not None:
            rule = "be left out with [few_shot], which pairs rows of single texts"
            raise InputError(f"examples.second_text must {rule}, got {second_text!r}")
        if settings.pooling not in (None, "mean"):
            raise InputError(f"pooling must be 'mean' with [few_shot], got {settings.pooling!r}")
        if settings.adaptation is not None:
            rule = "be left out with [few_shot], whose head is fitted to the weights of the encoder itself"
            raise InputError(f"adaptation must {rule}")
        if (start_head := settings.fine_tuning.start_head) != "auto":
            rule = "be left out with [few_shot], which always fits the head"
            raise InputError(f"fine_tuning.start_head must {rule}, got {start_head!r}")
        for name in ("examples", "unlabelled"):
            if getattr(getattr(settings, name), "has_teacher_answers", False):
                rule = "be left out with [few_shot], whose head is fitted to labels alone"
                raise InputError(f"{name}.probabilities must {rule}")

    def check_rows(self, table: FewShot, settings: Settings, splits: Mapping[str, Sequence[Any]]) -> None:
        if table.pairs and settings.examples is not None:
            check_pairable(TASK_ROWS[settings.examples.task], splits["train"])

    def count_texts(self, table: FewShot, tuning: FineTuningSettings, rows: float) -> int:
        """Number of texts that training reads: two per pair, 0 without pairs."""
        return 2 * tuning.count_steps(round(2 * table.pairs * rows)) * tuning.batch_size if table.pairs else 0

    def why_untrained(self, table: FewShot) -> str:
        """Says that the encoder is not trained if `pairs` is 0; empty otherwise."""
        return "" if table.pairs else " where few_shot.pairs is 0, as only a head is fitted"

    def propose(self, source: AnySource, rows: RowTraits, rate: Setting) -> Proposal | None:
        """The tables of a job for texts with few rows of each label; None for other rows."""
        is_text = source.task in PAIRED_TASKS and getattr(source, "second_text", None) is None
        counts = rows.labels.values()
        if not is_text or (mean := sum(counts) / len(counts)) > _FEW_ROWS or max(counts) < 2:
            return None
        few = f"few rows a label ({mean:.3g} on average)"
        pairs, reason = _PAIRS, f"{few} teach by pairs, here {2 * _PAIRS * rows.rows}, before a head is fitted (SetFit)"
        training = [Setting("epochs", 1.0, "a pass through the pairs"), Setting("batch_size", _PAIRS_BATCH_SIZE), rate]
        if 2 * _PAIRS * rows.rows > _MOST_PAIRS:
            pairs, training = 0, []
            reason = f"{few}, but many in all: only a head is fitted; {_PAIRS} pairs a row would take long"
        training += propose_class_weights(rows)
        untrained = "few rows train no numbers better; nor a [student], without [unlabelled] texts"
        tables = [
            SettingsTable("few_shot", [Setting("pairs", pairs, reason)]),
            *([SettingsTable("fine_tuning", training)] if training else []),
            SettingsTable("quantization", [RECIPE, Setting("post_training", True, untrained)]),
        ]
        return Proposal(tables, 4 * pairs * rows.rows)

    def wire_teacher(
        self, table: FewShot, settings: Settings, start: TuningInputs, rows: Handle[TaskExamples], seed: int, label: str
    ) -> Node:
        """A head on an encoder that was fine-tuned on pairs of rows, if there are pairs."""
        tuning, encoder = settings.fine_tuning, start.model
        training = seeded(tuning, seed)
        if table.pairs:
            pairs = pair_examples(vocabulary=start.vocabulary, examples=rows, pairs=table.pairs, seed=training.seed)
            append_seed(settings, seed, append_name(pairs, label))
            tuned = fine_tune(
                pretrained=start.model,
                examples=pairs.output(TaskExamples),
                new_head=HeadSettings("mean"),
                fine_tuning=dataclasses.replace(training, class_weights="none", start_head="auto"),
            )
            encoder = append_seed(settings, seed, append_name(tuned, label)).output(Model)
        return fit_head(
            encoder=encoder,
            examples=rows,
            pooling="mean",
            class_weights=tuning.class_weights,
            l2=table.l2,
            seed=training.seed,
        )
