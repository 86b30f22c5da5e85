"""The tables that `init` proposes where each label has few rows."""

from components.examples.row_traits import RowTraits
from components.examples.source_rows import AnySource
from components.few_shot.label_pairs import PAIRED_TASKS
from pipeline.proposal import RECIPE, Proposal, Setting, SettingsTable, propose_class_weights

# Up to so many rows a label `[few_shot]` is proposed: twice those that docs/accuracy.md has figures of.
_FEW_ROWS = 16
# Pairs of each kind for a row (Tunstall et al. 2022, released code), and pairs in all for a training of minutes. Where
# more would be needed, there are none: with fewer for each row, the head alone was better (docs/accuracy.md).
_PAIRS, _MOST_PAIRS, _PAIRS_BATCH_SIZE = 20, 5_000, 16


def propose_few_shot(source: AnySource, rows: RowTraits, rate: Setting) -> Proposal | None:
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
    recipe = [
        RECIPE,
        Setting("post_training", True, "few rows train no numbers better; nor a [student], without [unlabelled] texts"),
    ]
    tables = [
        SettingsTable("few_shot", [Setting("pairs", pairs, reason)]),
        *([SettingsTable("fine_tuning", training)] if training else []),
        SettingsTable("quantization", recipe),
    ]
    return Proposal(tables, 4 * pairs * rows.rows)
