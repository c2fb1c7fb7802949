"""The index of digests: it answers like a dict, in a tenth of the memory."""

from hypothesis import given
from hypothesis import strategies as st

from greval._util.row_index import MAX_UNMERGED, RowIndex, hash_key
from greval.records.metric_input import hash_json

keys = st.one_of(
    st.integers(0, 40).map(hash_json), st.sampled_from(["k1", "k2", "", "0" * 16, "f" * 16, "F" * 16, "ż"])
)
changes = st.lists(st.lists(st.tuples(keys, st.integers(1, 2**32 - 1)), max_size=8), max_size=8)


@given(changes, st.lists(keys))
def test_it_answers_like_a_dict(rounds, asked):
    """Whatever is set, one by one or many at once, the newest place of a key is found, and no other key."""
    index, plain = RowIndex(), {}
    for turn, entries in enumerate(rounds):
        if turn % 2:
            index.load((hash_key(key), place) for key, place in entries)
        for key, place in entries:
            if not turn % 2:
                index[key] = place
            plain[key] = place
        assert len(index) == len(plain)
    for key in [*plain, *asked]:
        assert index.get(key) == plain.get(key)
        assert (key in index) == (key in plain)


@given(keys, st.integers(1, 9), st.integers(1, 9))
def test_a_place_set_after_a_merge_wins(key, first, second):
    """The newest place counts, also where an older one is in the arrays already and the new one is not yet."""
    index = RowIndex()
    index[key] = first
    assert len(index) == 1
    index[key] = second
    assert index.get(key) == second


def test_many_entries_are_merged_and_found():
    """Entries are found on both sides of a merge, and counted once."""
    index, count = RowIndex(), MAX_UNMERGED + 1000
    for place in range(count):
        index[hash_json(place)] = place
    assert len(index._newest) == 1000
    assert [index.get(hash_json(place)) for place in range(0, count, 997)] == [*range(0, count, 997)]
    assert len(index) == count


def test_a_digest_is_its_number_and_other_texts_are_hashed():
    """Sixteen hex digits as `digest` writes them are taken as they are; what only looks like them is another key."""
    assert hash_key("7fffffffffffffff") == 2**63 - 1
    assert hash_key("ffffffffffffffff") == -1
    assert len({hash_key(key) for key in ("ab" * 8, "AB" * 8, " " + "ab" * 8, "ab" * 7 + "  ", "ab" * 9)}) == 5


def test_an_entry_takes_twelve_bytes():
    """What is merged is arrays of 8 and 4 bytes an entry, and the dict is empty."""
    index = RowIndex()
    for place in range(100_000):
        index[place * 7919] = place
    assert len(index) == 100_000
    assert index._numbers.nbytes + index._places.nbytes == 1_200_000
    assert not index._newest
