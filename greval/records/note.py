"""Notes: additional fields of a judgement, requested from the judge or counted in code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer

from greval.records.record import Label, Record, Text
from greval.records.scale import Better, has_field

RESERVED = ("reason", "value", "item", "judgements")
"""Field names of the judge's answer, which a note may not use."""


def _convert_word(words: object) -> object:
    return (words,) if isinstance(words, str) else words


LabelTuple = Annotated[tuple[Label, ...], Field(min_length=1), BeforeValidator(_convert_word)]


ListNoteField = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Annotated[tuple[Label, ...], Field(min_length=1)], Tag("words")],
    Discriminator(lambda given: "words" if isinstance(given, list | tuple) else "text"),
]
"""A field of a list note: its description, or the list of its allowed words."""


class TextNote(Record):
    """An additional text requested from the judge, before or after the verdict."""

    means: Text
    when: Literal["before", "after"] = "after"


class ListNote(Record):
    """An additional list requested from the judge; `each` describes the fields of its entries or lists their words.

    If the list is as long as `most`, further entries may be missing, and the shares that are counted over it say so.
    """

    means: Text
    each: Annotated[dict[Label, ListNoteField], Field(min_length=1)]
    when: Literal["before", "after"] = "after"
    most: Annotated[int, Field(ge=1)] | None = None

    @model_serializer(mode="wrap")
    def _dump_brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _drop_missing(dump(self))


class ShareNote(Record):
    """A share counted in code over a list note: of the entries that match `among`, those that match `where`.

    If `better` is set, the verdict is checked against the share: with `higher` a share of 1 corresponds to the best
    value of the scale, with `lower` a share of 0.
    """

    share: Label
    where: dict[Label, LabelTuple]
    among: dict[Label, LabelTuple] = Field(default_factory=dict)
    better: Better | None = None

    @model_serializer(mode="wrap")
    def _dump_brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _drop_missing(dump(self))


def _drop_missing(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are set: definitions without the others keep their fingerprints."""
    return {name: content for name, content in fields.items() if content is not None}


def _find_note_kind(note: object) -> str:
    return "list" if has_field(note, "each") else "share" if has_field(note, "share") else "text"


Note = Annotated[
    Annotated[ListNote, Tag("list")] | Annotated[ShareNote, Tag("share")] | Annotated[TextNote, Tag("text")],
    Discriminator(_find_note_kind),
]
Notes = dict[Label, Note]


def find_share_faults(note: ShareNote, notes: Notes) -> Iterator[str]:
    """Find the fields and words of a share that its list note does not define."""
    listed = notes.get(note.share)
    if not isinstance(listed, ListNote):
        lists = [name for name, candidate in notes.items() if isinstance(candidate, ListNote)]
        yield f"share: {note.share!r} is no list note; known: {', '.join(lists) or 'none'}"
        return
    for field, requested in (*note.among.items(), *note.where.items()):
        words = listed.each.get(field)
        if not isinstance(words, tuple):
            yield f"{field!r} is no field of {note.share!r} with listed words"
        elif unknown := [word for word in requested if word not in words]:
            yield f"{field}: {', '.join(map(repr, unknown))} not among {', '.join(words)}"
