"""The capability `few_shot`: its checks, and the steps that make the teacher."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Handle, Node
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS
from components.examples.row_traits import RowTraits
from components.examples.source_rows import AnySource
from components.few_shot.label_pairs import PAIRED_TASKS, check_pairable
from components.fine_tune import fine_tune
from components.fit_head import fit_head
from components.pair_examples import pair_examples
from keras_bert.few_shot.options import FewShot
from keras_bert.options.fine_tuning import Selection
from pipeline.capability import Capability
from pipeline.few_shot.proposal import propose_few_shot
from pipeline.nodes import Start, append_name, append_seed, seeded
from pipeline.proposal import Proposal, Setting
from pipeline.settings.schema import FineTuningSettings, Settings, select_fields


class FewShotCapability(Capability[FewShot]):
    """The encoder learns from pairs of rows, then a head is fitted to its vectors."""

    name = "few_shot"
    table = FewShot
    purpose = (
        "fine-tuning of classification on few rows of each label: with the settings of `fine_tuning` the encoder "
        "learns from pairs of rows, then a head is fitted. Without it, both learn together."
    )

    def check_tables(self, table: FewShot, settings: Settings) -> None:
        """Raises InputError if the task is not supported, or another setting contradicts few-shot fine-tuning."""
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

    def check_rows(self, table: FewShot, source: AnySource, splits: Mapping[str, Sequence[Any]]) -> None:
        """Raises InputError if no two training rows have a label in common."""
        if table.pairs:
            check_pairable(TASK_ROWS[source.task], splits["train"])

    def count_texts(self, table: FewShot, tuning: FineTuningSettings, rows: float) -> int:
        """Number of texts that training reads: two per pair, 0 without pairs."""
        return 2 * tuning.count_steps(round(2 * table.pairs * rows)) * tuning.batch_size if table.pairs else 0

    def why_untrained(self, table: FewShot) -> str:
        """Says that the encoder is not trained if `pairs` is 0; empty otherwise."""
        return "" if table.pairs else " where few_shot.pairs is 0, as only a head is fitted"

    def propose(self, source: AnySource, rows: RowTraits, rate: Setting) -> Proposal | None:
        """Proposes tables for data with few rows per label."""
        return propose_few_shot(source, rows, rate)

    def wire_teacher(
        self, table: FewShot, settings: Settings, start: Start, rows: Handle[TaskExamples], seed: int, label: str
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
                pooling="mean",
                training=training,
                selection=select_fields(tuning, Selection),
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
