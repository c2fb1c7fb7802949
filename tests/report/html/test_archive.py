"""The compressed blocks of a page: nothing is lost or doubled, and their size has a limit."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from greval.report.html.archive import BLOCK_CHARACTERS, DetailBlocks, TextTable

texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=50), max_size=30)


def unpack(block):
    """Return the content of a block, as a browser reads it."""
    return json.loads(zlib.decompress(b64decode(block)))


def write_words(count, seed):
    """Return a text of random words, which compresses little."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=6)) for _ in range(count))


@given(texts, texts)
def test_every_text_is_kept_once(first, second):
    """A text has one number whatever the case, and the blocks hold it at this number."""
    table = TextTable()
    numbers = [table.keep(text) for text in (*first, *second)]
    packed = table.build_blocks(10_000_000)
    found = [text for block in packed.blocks for text in unpack(block)]
    assert [found[number] for number in numbers] == [*first, *second]
    assert len(found) == len({*first, *second})
    assert packed.limit is None


def test_a_block_begins_with_the_number_of_its_first_text():
    """Starts are those numbers, so that a reader finds the block of a number."""
    table = TextTable()
    for number in range(30):
        table.keep(f"{number} {'x' * (BLOCK_CHARACTERS // 9)}")
    packed = table.build_blocks(10 * BLOCK_CHARACTERS * 9)
    assert len(packed.blocks) > 2
    assert [unpack(block)[0].split()[0] for block in packed.blocks] == [str(start) for start in packed.starts]


def test_texts_are_cut_to_keep_the_size():
    """Long texts are cut to the highest limit that fits, and say how much is left out."""
    table = TextTable()
    for number in range(300):
        table.keep(write_words(600, number))
    whole = table.build_blocks(10_000_000)
    cut = table.build_blocks(300_000)
    assert whole.limit is None
    assert cut.limit in {500, 1_000}
    assert 100_000 < sum(map(len, cut.blocks)) <= 330_000
    assert "more characters in the run" in unpack(cut.blocks[0])[0]


def test_details_end_at_their_limit():
    """Places are those in the blocks, and nothing is added once they are full."""
    details = DetailBlocks(most=400_000)
    places = {}
    for number in range(1000):
        if details.is_full:
            break
        text = write_words(300, number)
        places[text] = details.add(text)
    details.finish()
    assert 200 < len(places) < 1000
    assert 400_000 <= details.size < 400_000 + 2 * BLOCK_CHARACTERS
    found = [unpack(block) for block in details.blocks]
    assert all(found[block][place] == text for text, (block, place) in places.items())
