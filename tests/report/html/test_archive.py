"""The compressed blocks of a page: nothing is lost or doubled, and their size has a limit."""

from __future__ import annotations

import json
import random
import re
import zlib
from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from greval.report.html.archive import BLOCK_CHARACTERS, ArchiveLimits, CaseArchive

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
    archive = CaseArchive(ArchiveLimits())
    numbers = [archive.keep_text(text) for text in (*first, *second)]
    packed = archive.pack({}, "case", total=0)
    unpacked = [text for block in packed.text_blocks for text in unpack(block)]
    assert [unpacked[number] for number in numbers] == [*first, *second]
    assert len(unpacked) == len({*first, *second})
    assert packed.notes == ()


def test_a_block_begins_with_the_number_of_its_first_text():
    """Starts are those numbers, so that a reader finds the block of a number."""
    archive = CaseArchive(ArchiveLimits())
    for number in range(30):
        archive.keep_text(f"{number} {'x' * (BLOCK_CHARACTERS // 9)}")
    packed = archive.pack({}, "case", total=0)
    assert len(packed.text_blocks) > 2
    starts = unpack(packed.listed)["textStarts"]
    assert [unpack(block)[0].split()[0] for block in packed.text_blocks] == [str(start) for start in starts]


def test_texts_are_cut_to_keep_the_size():
    """Long texts are cut to the highest limit that fits, and say how much is left out."""
    archive = CaseArchive(ArchiveLimits(case_bytes=300_000))
    for number in range(300):
        archive.keep_text(write_words(600, number))
    packed = archive.pack({}, "case", total=0)
    assert re.search("cut to (500|1,000) characters", packed.notes[0])
    assert 100_000 < sum(map(len, packed.text_blocks)) <= 330_000
    assert "more characters in the run" in unpack(packed.text_blocks[0])[0]


def test_details_end_at_their_limit():
    """Places are those in the blocks, and nothing is added once they are full."""
    archive = CaseArchive(ArchiveLimits(detail_bytes=400_000))
    positions = {}
    for number in range(1000):
        text = write_words(300, number)
        position = archive.add(lambda text=text: text)
        if position is None:
            break
        positions[text] = position
    blocks = archive.pack({}, "case", total=0).blocks
    assert 200 < len(positions) < 1000
    assert 400_000 <= sum(map(len, blocks)) < 400_000 + 2 * BLOCK_CHARACTERS
    details = [unpack(block) for block in blocks]
    assert all(details[block][place] == text for text, (block, place) in positions.items())
