"""What a student imitates of its teacher beside the answers."""

import dataclasses
from typing import Any, ClassVar, Literal, get_args

from keras_bert.checks import check

RelationKind = Literal["query_key_value", "attention_value"]

# Each is the weight of a loss of this name: those of states, and those of the vectors of texts besides.
OF_STATES = ("hidden_states", "attentions", "relations", "cosine")
OF_EMBEDDINGS = ("vectors", "similarities")
WEIGHTS = (*OF_STATES, *OF_EMBEDDINGS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateImitation:
    """Weights of losses between the states of a teacher and of a student, 0 for off, whatever either answers.

    Attributes:
        hidden_states: of the squared difference of states (Jiao et al. 2020, equations 8 and 9), the embeddings' too.
        attentions: of that of attention scores before the softmax (equation 7); both must have as many heads.
        relations: of the divergence of how tokens relate in the student's last layer and in `teacher_layer`.
        cosine: of 1 - the cosine of a token's final states (Sanh et al. 2019, section 3).
        layer_map: for `hidden_states` and `attentions`, the teacher's block for each of the student's, from 0; None for
            the last one and others as evenly spread as can be (Jiao et al. 2020, section 4.1).
        teacher_layer: for `relations`, the teacher's block, from 0, or from the end as -1. Wang et al. 2021, section 4,
            take the last one of 12; of BERT's 24, number 20, and of RoBERTa's, number 18.
        relation_kind: `query_key_value` for relations of queries, keys and values with themselves (Wang et al. 2021,
            section 3.1); `attention_value` for attention, which needs as many heads, and that of values (Wang et al.
            2020, sections 3.1 and 3.2).
        relation_heads: for `query_key_value`, how many heads the widths of both are cut into, whatever heads there are;
            None for the teacher's. Wang et al. 2021, section 4: 48 for a width of 768, 64 for 1024.
    """

    names: ClassVar[tuple[str, ...]] = OF_STATES
    """The weights that there are."""

    hidden_states: float = 0.0
    attentions: float = 0.0
    relations: float = 0.0
    cosine: float = 0.0
    layer_map: tuple[int, ...] | None = None
    teacher_layer: int = -1
    relation_kind: RelationKind = "query_key_value"
    relation_heads: int | None = None

    def __post_init__(self) -> None:
        for field in self.names:
            check("Imitation", field, getattr(self, field) >= 0, "not be negative", getattr(self, field))
        kinds, heads = get_args(RelationKind), self.relation_heads
        check("Imitation", "relation_kind", self.relation_kind in kinds, f"be one of {kinds}", self.relation_kind)
        check("Imitation", "relation_heads", heads is None or heads >= 1, "be at least 1", heads)
        rising = self.layer_map is None or all(layer >= 0 for layer in self.layer_map)
        check("Imitation", "layer_map", rising, "name the teacher's layers from 0 on", self.layer_map)
        mapped, related = self.hidden_states or self.attentions, self.relations
        self._check_use("layer_map", mapped, "hidden_states and attentions are 0")
        for field in ("teacher_layer", "relation_kind", "relation_heads"):
            self._check_use(field, related, "relations is 0")
        whole = self.relation_kind == "query_key_value"
        self._check_use("relation_heads", whole, "relation_kind is 'attention_value'")

    def _check_use(self, field: str, used: Any, owner: str) -> None:
        """What no loss would read is an error."""
        left = getattr(self, field) == type(self).__dataclass_fields__[field].default
        check("Imitation", field, bool(used) or left, f"be left out where {owner}", getattr(self, field))

    @property
    def weights(self) -> dict[str, float]:
        """The losses that there are, each with its weight."""
        return {name: getattr(self, name) for name in self.names if getattr(self, name)}

    @property
    def is_on(self) -> bool:
        """Whether there is any such loss."""
        return bool(self.weights)

    def check_on(self) -> None:
        """Raises ValueError where there is no such loss, and nothing else to learn from."""
        rule = "be above 0 where hidden_states, attentions and cosine are 0, as there is nothing else to learn from"
        check("Imitation", "relations", self.is_on, rule, self.relations)

    def check_layers(self, student: int, teacher: int) -> None:
        """Looks whether two encoders have the layers that are named.

        Args:
            student: blocks of the student.
            teacher: those of the teacher.

        Raises:
            ValueError: one is named that is not there, or the student has more and there is no `layer_map`.
        """
        layers = self.layer_map
        if layers is not None:
            known = len(layers) == student and all(layer < teacher for layer in layers)
            rule = f"name for each of the student's {student} layers one of the teacher's, 0 to {teacher - 1}"
            check("Imitation", "layer_map", known, rule, list(layers))
        elif self.hidden_states or self.attentions:
            rule = f"be set where the student has more layers, {student}, than the teacher, {teacher}"
            check("Imitation", "layer_map", student <= teacher, rule, None)
        rule = f"be from {-teacher} to {teacher - 1}, the teacher's layers"
        check("Imitation", "teacher_layer", -teacher <= self.teacher_layer < teacher, rule, self.teacher_layer)

    def check_heads(self, student: int, teacher: int) -> None:
        """Raises ValueError where a loss needs as many heads in a student as in its teacher, and there are not."""
        rule = f"be 0 where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "attentions", not self.attentions or student == teacher, rule, self.attentions)
        alone = not self.relations or self.relation_kind != "attention_value" or student == teacher
        rule = f"be 'query_key_value' where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "relation_kind", alone, rule, self.relation_kind)

    def check_widths(self, student: int, teacher: int, heads: int) -> None:
        """Raises ValueError where widths of queries cannot be cut into the heads of relations.

        Args:
            student: the width of the student's queries, keys and values.
            teacher: that of the teacher's.
            heads: of the teacher.
        """
        if not self.relations or self.relation_kind != "query_key_value":
            return
        wanted = self.relation_heads or heads
        whole = student % wanted == 0 and teacher % wanted == 0
        rule = f"divide the widths of queries, {student} in the student and {teacher} in the teacher"
        check("Imitation", "relation_heads", whole, rule, wanted)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Imitation(StateImitation):
    """Weights of losses between the teacher and the student, 0 for off; each is added to that of the answers.

    Attributes:
        vectors: for embeddings, of 1 - the cosine of a text's two vectors.
        similarities: for embeddings, of the squared difference of the cosines of all texts of a batch with each other
            (Tung and Mori 2019, section 3.1, with squared errors of cosines); with `accumulation`, of a part.
        intermediate_steps: share of the steps in which these losses count alone, before the answers do too; these
            first steps are a training of their own, with a warm-up and a decay (as Jiao et al. 2020, section 4).
    """

    names: ClassVar[tuple[str, ...]] = WEIGHTS

    vectors: float = 0.0
    similarities: float = 0.0
    intermediate_steps: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        share = self.intermediate_steps
        check("Imitation", "intermediate_steps", 0 <= share < 1, "be in [0, 1)", share)
        self._check_use("intermediate_steps", self.is_on, f"{', '.join(WEIGHTS)} are 0")
