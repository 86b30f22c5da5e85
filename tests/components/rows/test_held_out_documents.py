import pytest

from components.corpus.shards import ShardDocument
from components.dsl.errors import InputError
from components.rows.held_out_documents import NO_CUTS, HeldOutCuts, choose_cut_documents, hash_key, hold_out_documents


@pytest.mark.parametrize(
    ("parts", "share", "documents", "chosen"),
    [
        ({}, 0.5, 10, ""),
        # In the order of their names, as many as fit: of 20 parts 10, of which c would be too many.
        ({"a": 4, "b": 3, "c": 10, "d": 3}, 0.5, 20, "abd"),
        ({"a": 4, "b": 3, "c": 13}, 0.15, 20, "b"),
        # None fits: left to the other documents, or if there are none, that of the fewest parts, the first of these.
        ({"a": 5, "b": 5, "c": 4}, 0.1, 15, ""),
        ({"a": 5, "b": 4, "c": 4}, 0.1, 13, "b"),
        ({"a": 9}, 0.1, 10, ""),
    ],
)
def test_cut_documents_that_are_held_out(parts, share, documents, chosen):
    cuts = choose_cut_documents(parts.items(), share, documents)
    assert {whole for whole in parts if cuts.holds_out(whole)} == set(chosen)
    assert not cuts.holds_out(None)
    assert len(cuts.others) <= 1, "a choice of many documents is small"


def test_a_single_document_cannot_be_on_both_sides():
    message = r"^the corpus must hold at least 2 documents .* got one, which was cut into 9 parts$"
    with pytest.raises(InputError, match=message):
        choose_cut_documents([("a", 9)], 0.5, 9)


def shard(*wholes):
    return [ShardDocument(f"{number}", [], whole) for number, whole in enumerate(wholes)]


def test_parts_go_where_their_document_goes_and_others_by_their_own_hash():
    documents = shard("a", None, "b", None, "a", None, None, "b")
    ordered = sorted((1, 3, 5, 6), key=lambda number: hash_key(f"{number}"))
    assert hold_out_documents(documents, 0.5, HeldOutCuts("", frozenset("b"))) == {2, 7, *ordered[:2]}
    assert hold_out_documents(documents, 0.01, HeldOutCuts("b")) == {0, 2, 4, 7, ordered[0]}
    assert hold_out_documents(documents, 0.01, NO_CUTS) == {ordered[0]}


def test_two_documents_stay_for_training_where_parts_leave_them():
    assert len(hold_out_documents(shard(None, None, None), 0.9, NO_CUTS)) == 1
    assert hold_out_documents(shard("a", None, None), 0.9, HeldOutCuts("", frozenset("a"))) == {0}
    assert hold_out_documents(shard("a", "a", None), 0.9, HeldOutCuts("", frozenset("a"))) == {0, 1}
    assert hold_out_documents([], 0.9, HeldOutCuts("", frozenset("a"))) == set()


def test_a_hash_by_hand():
    # BLAKE2b of nothing with 8 bytes, as of `b2sum -l 64`.
    assert f"{hash_key(''):x}" == "e4a6a0577479b2b4"
