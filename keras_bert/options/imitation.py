"""The losses between the states of a student and of its teacher."""

from typing import Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.validation import ShareBelowOne, validated_dataclass

RelationKind = Literal["query_key_value", "attention_value"]

# The names of losses, each a field with the weight of the loss: losses of states, and of the vectors of texts.
OF_STATES = ("hidden_states", "attentions", "relations", "cosine")
OF_EMBEDDINGS = ("vectors", "similarities")
WEIGHTS = (*OF_STATES, *OF_EMBEDDINGS)


@validated_dataclass
class StateImitation:
    """Weights of the losses between the states of a teacher and of a student; 0 turns a loss off.

    Attributes:
        hidden_states: weight of the squared difference of hidden states, those of the embeddings included (Jiao et al.
            2020, equations 8 and 9).
        attentions: weight of the squared difference of attention scores before the softmax (Jiao et al. 2020, equation
            7); teacher and student must have the same number of heads.
        relations: weight of the divergence between the relations of tokens in the student's last block and in the
            teacher's block `teacher_layer`.
        cosine: weight of 1 - the cosine of the final states of a token (Sanh et al. 2019, section 3).
        layer_map: for `hidden_states` and `attentions`, the number of the teacher's block, from 0, for each block of
            the student; None for the last block and others evenly spread (Jiao et al. 2020, section 4.1).
        teacher_layer: for `relations`, the number of the teacher's block, from 0, or from the end as -1. Wang et al.
            2021, section 4, take the last of 12 blocks, number 20 of BERT's 24, and number 18 of RoBERTa's 24.
        relation_kind: `query_key_value` for relations of queries, keys and values with themselves (Wang et al. 2021,
            section 3.1); `attention_value` for attention probabilities, which needs the same number of heads, and
            relations of values (Wang et al. 2020, sections 3.1 and 3.2).
        relation_heads: for `query_key_value`, number of heads that the widths of both models are divided into; None for
            the teacher's number of heads. Wang et al. 2021, section 4: 48 for a width of 768, 64 for 1024.
    """

    names: ClassVar[tuple[str, ...]] = OF_STATES
    """The fields that are weights of losses."""

    hidden_states: pydantic.NonNegativeFloat = 0.0
    attentions: pydantic.NonNegativeFloat = 0.0
    relations: pydantic.NonNegativeFloat = 0.0
    cosine: pydantic.NonNegativeFloat = 0.0
    layer_map: tuple[pydantic.NonNegativeInt, ...] | None = None
    teacher_layer: int = -1
    relation_kind: RelationKind = "query_key_value"
    relation_heads: pydantic.PositiveInt | None = None

    @pydantic.model_validator(mode="after")
    def _check_uses(self) -> Self:
        mapped, related = self.hidden_states or self.attentions, self.relations
        self._check_use("layer_map", mapped, "hidden_states and attentions are 0")
        for field in ("teacher_layer", "relation_kind", "relation_heads"):
            self._check_use(field, related, "relations is 0")
        whole = self.relation_kind == "query_key_value"
        self._check_use("relation_heads", whole, "relation_kind is 'attention_value'")
        return self

    def _check_use(self, field: str, used: Any, reason: str) -> None:
        """Refuses a field that no loss reads, unless it has its default."""
        value, default = getattr(self, field), type(self).__dataclass_fields__[field].default
        check("Imitation", field, bool(used) or value == default, f"be left out where {reason}", value)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the losses that are on, by name."""
        return {name: getattr(self, name) for name in self.names if getattr(self, name)}

    @property
    def is_on(self) -> bool:
        """Whether at least one loss is on."""
        return bool(self.weights)

    def check_on(self) -> None:
        """Raises FieldError where no loss is on, in a training that has no other loss."""
        rule = "be above 0 where hidden_states, attentions and cosine are 0, as there is nothing else to learn from"
        check("Imitation", "relations", self.is_on, rule, self.relations)

    def check_layers(self, student: int, teacher: int) -> None:
        """Checks the numbers of blocks against two encoders.

        Args:
            student: number of blocks of the student.
            teacher: number of blocks of the teacher.

        Raises:
            FieldError: the teacher lacks a block, or the student has more blocks and there is no `layer_map`.
        """
        layers = self.layer_map
        if layers is not None:
            valid = len(layers) == student and all(layer < teacher for layer in layers)
            rule = f"name for each of the student's {student} layers one of the teacher's, 0 to {teacher - 1}"
            check("Imitation", "layer_map", valid, rule, list(layers))
        elif self.hidden_states or self.attentions:
            rule = f"be set where the student has more layers, {student}, than the teacher, {teacher}"
            check("Imitation", "layer_map", student <= teacher, rule, None)
        rule = f"be from {-teacher} to {teacher - 1}, the teacher's layers"
        check("Imitation", "teacher_layer", -teacher <= self.teacher_layer < teacher, rule, self.teacher_layer)

    def check_heads(self, student: int, teacher: int) -> None:
        """Raises FieldError where a loss needs the same number of heads in student and teacher, and they differ."""
        rule = f"be 0 where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "attentions", not self.attentions or student == teacher, rule, self.attentions)
        valid = not self.relations or self.relation_kind != "attention_value" or student == teacher
        rule = f"be 'query_key_value' where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "relation_kind", valid, rule, self.relation_kind)

    def check_widths(self, student: int, teacher: int, heads: int) -> None:
        """Checks that the widths of queries can be divided into the heads of relations.

        Args:
            student: width of the student's queries, keys and values, all heads together.
            teacher: width of the teacher's queries, keys and values, all heads together.
            heads: number of the teacher's heads.

        Raises:
            FieldError: the number of heads does not divide both widths.
        """
        if not self.relations or self.relation_kind != "query_key_value":
            return
        relation_heads = self.relation_heads or heads
        whole = student % relation_heads == 0 and teacher % relation_heads == 0
        rule = f"divide the widths of queries, {student} in the student and {teacher} in the teacher"
        check("Imitation", "relation_heads", whole, rule, relation_heads)


@validated_dataclass
class Imitation(StateImitation):
    """Weights of the losses between a teacher and a student that are added to the loss of the answers.

    Attributes:
        vectors: for embeddings, weight of 1 - the cosine of the two vectors of a text.
        similarities: for embeddings, weight of the squared difference of the cosines of all texts of a batch with each
            other (Tung and Mori 2019, section 3.1, with squared errors of cosines); with `accumulation`, of a part.
        intermediate_steps: share of the steps, 0 to below 1, in which these losses count alone, before the loss of the
            answers is added. These first steps are a separate training with its own warm-up and decay (Jiao et al.
            2020, section 4).
    """

    names: ClassVar[tuple[str, ...]] = WEIGHTS

    vectors: pydantic.NonNegativeFloat = 0.0
    similarities: pydantic.NonNegativeFloat = 0.0
    intermediate_steps: ShareBelowOne = 0.0

    @pydantic.model_validator(mode="after")
    def _check_intermediate_steps(self) -> Self:
        self._check_use("intermediate_steps", self.is_on, f"{', '.join(WEIGHTS)} are 0")
        return self
