"""Settings of students, distillation, augmentation and pruning."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import pydantic

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.core.validation import OpenShare, PositiveShare, Seed, Share, ShareBelowOne, validated_dataclass


@validated_dataclass
class Student:
    """Sizes of an encoder that is smaller than its teacher; sizes that are not set are the teacher's.

    A student as wide as its teacher starts from some of the teacher's blocks. If it has fewer heads or a narrower
    feed-forward layer, it takes the most important heads and units. A student of another width starts from random
    weights.

    Attributes:
        num_layers: number of encoder blocks; `spread_layers` chooses the blocks of the teacher to start from.
        layers: indices of the teacher's blocks to start from, instead of `num_layers` and `hidden_size`.
        hidden_size: width of the encoder; a multiple of `num_heads`.
        num_heads: number of attention heads in a block; without `hidden_size`, heads are as wide as the teacher's.
        intermediate_size: width of the feed-forward layer.
        embedding_rank: rank of a factorized token embedding, see `EncoderShape`.

    Examples:
        >>> Student(layers=(1, 3, 5)).layers
        (1, 3, 5)
    """

    num_layers: pydantic.PositiveInt | None = None
    layers: Annotated[tuple[pydantic.NonNegativeInt, ...], pydantic.Field(min_length=1)] | None = None
    hidden_size: pydantic.PositiveInt | None = None
    num_heads: pydantic.PositiveInt | None = None
    intermediate_size: pydantic.PositiveInt | None = None
    embedding_rank: pydantic.PositiveInt | None = None

    training: ClassVar[Mapping[str, Any]] = {}
    """What the training of a student has that the user does not set, in place of the usual values."""

    @pydantic.model_validator(mode="after")
    def _check_sizes(self) -> Self:
        sizes = self._sizes()
        check("Student", "num_layers", bool(sizes) or self.layers is not None, "be set, or layers", None)
        if self.hidden_size is not None and self.num_heads is not None:
            whole = self.hidden_size % self.num_heads == 0
            check("Student", "hidden_size", whole, f"be a multiple of num_heads={self.num_heads}", self.hidden_size)
        for name in ("num_layers", "hidden_size") if self.layers is not None else ():
            rule = f"be left out beside layers={list(self.layers or ())}"
            check("Student", name, name not in sizes, rule, sizes.get(name))
        return self

    def config(self, teacher: EncoderConfig, max_length: int) -> EncoderConfig:
        """The configuration of the student."""
        sizes = self._sizes()
        if self.hidden_size is not None:
            sizes["attention_size"] = None
        elif self.num_heads is not None and self.num_heads < teacher.num_heads and has_prunable_blocks(teacher):
            sizes["attention_size"] = self.num_heads * teacher.head_size
        if self.layers is not None:
            sizes["num_layers"] = len(self.layers)
        return dataclasses.replace(teacher, **sizes, max_length=max_length)

    def check_job(self, settings: Any) -> None:
        """Raises InputError where the tables of a job do not suit a student of this kind."""

    def check_files(self, settings: Any) -> None:
        """Raises InputError where the files that a job names do not suit a student of this kind."""

    def build(self, teacher: Any, rows: Any) -> Any:
        """A student before its training, which has no layers of the teacher; None for an encoder of these sizes."""
        return None

    def finish(self, student: Any) -> Any:
        """The student after its training, which a kind of its own may store in other numbers."""
        return student

    def _sizes(self) -> dict[str, Any]:
        """The fields that are set, except `layers`."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "layers"}


def has_prunable_blocks(teacher: EncoderConfig) -> bool:
    """Whether a student may keep some of the heads and units of each block: BERT's graph without shared layers."""
    return teacher.variant is None and not teacher.shared_layers


@validated_dataclass
class Distillation:
    """Settings of the distillation of a teacher's outputs (Hinton et al. 2015, section 2).

    Attributes:
        temperature: divisor of the logits of both models, above 0; higher temperatures emphasize the differences
            between unlikely labels.
        hard_weight: weight of the loss on true labels, 0 to 1; the rest is the weight of the loss on teacher outputs.

    Examples:
        >>> Distillation(temperature=4.0).hard_weight
        0.5
    """

    temperature: pydantic.PositiveFloat = 2.0
    hard_weight: Share = 0.5


RelationKind = Literal["query_key_value", "attention_value"]

# Fields that are weights of losses: losses of states, and losses of text vectors.
OF_STATES = ("hidden_states", "attentions", "relations", "cosine")
OF_EMBEDDINGS = ("vectors", "similarities")
WEIGHTS = (*OF_STATES, *OF_EMBEDDINGS)


@validated_dataclass
class StateImitation:
    """Weights of the losses between the states of a teacher and of a student; 0 turns a loss off.

    Attributes:
        hidden_states: weight of the squared difference of hidden states, including the embeddings (Jiao et al. 2020,
            equations 8 and 9).
        attentions: weight of the squared difference of attention scores before the softmax (Jiao et al. 2020, equation
            7); teacher and student must have the same number of heads.
        relations: weight of the divergence between the relations of tokens in the student's last block and in the
            teacher's block `teacher_layer`.
        cosine: weight of 1 minus the cosine of both final states of a token (Sanh et al. 2019, section 3).
        layer_map: for `hidden_states` and `attentions`, the index of the teacher's block for each block of the student;
            None for evenly spread blocks that end with the last one (Jiao et al. 2020, section 4.1).
        teacher_layer: for `relations`, the index of the teacher's block; negative indices count from the end. Wang et
            al. 2021, section 4, take the last of 12 blocks, block 20 of BERT's 24, and block 18 of RoBERTa's 24.
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
        """Raises FieldError for a field that no loss uses, unless it has its default."""
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
        """Raises FieldError if no loss is on, for a training that has no other loss."""
        rule = "be above 0 where hidden_states, attentions and cosine are 0, as there is nothing else to learn from"
        check("Imitation", "relations", self.is_on, rule, self.relations)

    def check_layers(self, student: int, teacher: int) -> None:
        """Checks `layer_map` and `teacher_layer` for the depths of two encoders.

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
        """Raises FieldError if the numbers of heads differ and a loss needs equal numbers."""
        rule = f"be 0 where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "attentions", not self.attentions or student == teacher, rule, self.attentions)
        valid = not self.relations or self.relation_kind != "attention_value" or student == teacher
        rule = f"be 'query_key_value' where the student has {student} heads and the teacher {teacher}"
        check("Imitation", "relation_kind", valid, rule, self.relation_kind)

    def check_widths(self, student: int, teacher: int, heads: int) -> None:
        """Checks that the widths of queries can be divided into the heads of relations."""
        if not self.relations or self.relation_kind != "query_key_value":
            return
        relation_heads = self.relation_heads or heads
        whole = student % relation_heads == 0 and teacher % relation_heads == 0
        rule = f"divide the widths of queries, {student} in the student and {teacher} in the teacher"
        check("Imitation", "relation_heads", whole, rule, relation_heads)


@validated_dataclass
class Imitation(StateImitation):
    """Weights of the losses between teacher and student that are added to the loss on outputs.

    Attributes:
        vectors: for embeddings, weight of 1 minus the cosine of both vectors of a text.
        similarities: for embeddings, weight of the squared difference of the cosines between all texts of a batch (Tung
            and Mori 2019, section 3.1, with squared errors of cosines); with `accumulation`, of a micro-batch.
        intermediate_steps: share of the steps, 0 to below 1, at the start with these losses only, before the loss on
            outputs is added. They are a separate training with its own warm-up and decay (Jiao et al. 2020, section
            4).

    Examples:
        >>> Imitation(relations=1.0).is_on
        True
    """

    names: ClassVar[tuple[str, ...]] = WEIGHTS

    vectors: pydantic.NonNegativeFloat = 0.0
    similarities: pydantic.NonNegativeFloat = 0.0
    intermediate_steps: ShareBelowOne = 0.0

    @pydantic.model_validator(mode="after")
    def _check_intermediate_steps(self) -> Self:
        self._check_use("intermediate_steps", self.is_on, f"{', '.join(WEIGHTS)} are 0")
        return self

    def count_intermediate_steps(self, steps: int) -> int:
        """The number of the first steps of a training without the loss on outputs; at least one step remains."""
        return min(max(1, round(self.intermediate_steps * steps)), steps - 1) if self.intermediate_steps else 0


@validated_dataclass
class TeacherLabels:
    """Augmentation of the training rows: copies in which some words are replaced, and new pairs of their texts.

    Attributes:
        new_pairs: for rows of two texts, the number of new rows for each first text, at most 8, see
            `keras_bert.data.neighbouring_pairs.neighbouring_pairs`.
        copies: number of copies of each training row (Jiao et al. 2020, section 3.2 and algorithm 1).
        replaced: share of the words of a copy that are replaced, above 0 and at most 1.
        candidates: number of words from which a replacement is drawn.
        seed: seed of the replacements and of the choice of new pairs, 0 to 2^32 - 1.
    """

    new_pairs: Annotated[int, pydantic.Field(ge=0, le=8)] = 0
    copies: pydantic.NonNegativeInt = 0
    replaced: PositiveShare = 0.4
    candidates: pydantic.PositiveInt = 15
    seed: Seed = 0


Pattern = Literal["unstructured", "2:4"]


@validated_dataclass
class Pruning:
    """Settings of magnitude pruning: the smallest weights of each kernel become zero.

    Attributes:
        sparsity: share of the weights that become zero, above 0 and below 1.
        pattern: `unstructured`, or `2:4`: two of four neighbouring weights of a unit become zero, which some processors
            multiply faster (Mishra et al. 2021); its sparsity is 0.5.
        ramp: share of the steps, above 0 and at most 1, in which the sparsity rises (Zhu and Gupta 2017, equation 1);
            the other weights are trained further after it.

    Examples:
        >>> Pruning(sparsity=0.8).pattern
        'unstructured'
    """

    sparsity: OpenShare = 0.5
    pattern: Pattern = "unstructured"
    ramp: PositiveShare = 0.5

    @pydantic.model_validator(mode="after")
    def _check_pattern(self) -> Self:
        half = self.pattern == "unstructured" or self.sparsity == 0.5
        check("Pruning", "sparsity", half, "be 0.5 with the pattern '2:4'", self.sparsity)
        return self
