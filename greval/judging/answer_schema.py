"""The JSON schema of a judge's answer, and the parsing of answers: strict about what is meant, not about its form."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Literal, assert_never

from pydantic import JsonValue

from greval.errors import MalformedVerdictError
from greval.records.metric import FINDINGS, JudgedMetric
from greval.records.note import ListNote, Note, ShareNote, TextNote
from greval.records.result import Judgement, ShownIds
from greval.records.scale import CategoricalScale, OffScaleError, Value, ValueScale

ReasonPosition = Literal["before", "after"]
"""Whether a judge gives its reason before or after the value."""
REASON_ORDERS: dict[ReasonPosition, tuple[str, str]] = {"before": ("reason", "value"), "after": ("value", "reason")}
DETAILED_FACTOR = 4
"""The factor by which a detailed reason may be longer than a brief one, if the length of texts is limited."""
MAX_SCHEMA_NAME = 64
_ITEM_NUMBER = re.compile(
    r"\s*(?:(?:item|chunk|triple)[\s_-]*)?(?:no\.?|#)?\s*[\[(]?(\d{1,9})[\])]?[.:]?\s*", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\s*([+-]?\d{1,16}(?:\.\d{1,16}|,\d{1,2})?)(?:\s*(?:/|out of|of)\s*(\d{1,16}))?\s*", re.IGNORECASE
)
"""A level as text, also of the highest one, as in `4/5`. A comma before three digits may separate thousands."""
MAX_LIST_ENTRIES = 8
"""The most entries of a list note if the length of texts is limited."""
MAX_COUNTED_ENTRIES = 30
"""The same for a list whose entries are counted, because what is left out would make the number wrong."""


def build_answer_schema(
    metric: JudgedMetric, *, many: bool, reason: ReasonPosition = "before", reason_length: int | None = None
) -> dict[str, Any]:
    """Build the JSON schema of a judge's answer, valid in the strict mode of OpenAI-compatible servers.

    With `many`, numbered items are judged in one answer. `reason_length` is the most characters of a brief reason and
    of a finding, for small models that follow the schema by a grammar and may never stop without a limit. A detailed
    reason may have `DETAILED_FACTOR` times as many, a text note twice, and a text in an entry of a list half as many.
    """
    factor = DETAILED_FACTOR if metric.reason_depth == "detailed" else 1
    parts = {
        "reason": _build_text_schema(reason_length and factor * reason_length),
        "value": metric.scale.answer_schema(),
        FINDINGS: build_object_schema({name: _build_text_schema(reason_length) for name in list_step_names(metric)}),
        **{
            name: _build_note_schema(note, reason_length, counted=name == metric.counts)
            for name, note in metric.notes.items()
            if not isinstance(note, ShareNote)
        },
    }
    verdict = {name: parts[name] for name in list_answer_parts(metric, reason)}
    if not many:
        return build_object_schema(verdict)
    item = build_object_schema({"item": {"type": "integer"}, **verdict})
    return build_object_schema({"judgements": {"type": "array", "items": item}})


def list_answer_parts(metric: JudgedMetric, reason: ReasonPosition) -> tuple[str, ...]:
    """List the names of the parts of a verdict in the order of the answer: notes, reason and value, further notes.

    Findings come directly before the reason, which is derived from them. A value that is counted is not asked for, and
    neither are shares.
    """
    notes = [(name, note.when) for name, note in metric.notes.items() if not isinstance(note, ShareNote)]
    findings = (FINDINGS,) if metric.reason_depth == "steps" else ()
    order = [name for name in REASON_ORDERS[reason] if name != "value" or not metric.counts]
    verdict = (part for name in order for part in ((*findings, name) if name == "reason" else (name,)))
    before, after = ([name for name, place in notes if place == when] for when in ("before", "after"))
    return (*before, *verdict, *after)


def list_step_names(metric: JudgedMetric) -> tuple[str, ...]:
    """List the names of the findings in a judge's answer, one a step, in the order of the steps."""
    return tuple(f"step_{number}" for number, _ in enumerate(metric.steps, 1))


def format_schema_name(name: str) -> str:
    """Format a name as one that every provider accepts, with a hash if it is changed, so that all stay different."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")
    if plain == name and len(name) <= MAX_SCHEMA_NAME:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    # Eight digits and a hyphen follow.
    return f"{plain[: MAX_SCHEMA_NAME - 9]}-{digest}".lstrip("-")


def parse_verdict(
    metric: JudgedMetric, answer: object, *, item: str | None = None, shown_ids: ShownIds | None = None
) -> Judgement:
    """Parse one verdict: its reason, its value on the scale, and its notes.

    `item` is the id of the item that it is about, and `shown_ids` the ids of the numbers that the judge was shown.
    """
    fields = _require_mapping(answer, "the answer")
    reason = fields.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise MalformedVerdictError("malformed", "the answer has no reason (a text before the value)")
    value_fields = (
        {"value": _count_entries(metric.counts, metric.notes[metric.counts], fields)} if metric.counts else fields
    )
    if "value" not in value_fields:
        raise MalformedVerdictError("malformed", f"the answer has no value; allowed: {metric.scale.allowed()}")
    try:
        value = _read_value(metric.scale, value_fields["value"])
    except OffScaleError as error:
        raise MalformedVerdictError("off_scale", f"value: {error}") from error
    return Judgement(
        value=value,
        reason=reason.strip(),
        number=metric.scale.number(value),
        item=item,
        notes=_parse_notes(metric, fields),
        findings=_parse_findings(metric, fields) if metric.reason_depth == "steps" else (),
        shown_ids=shown_ids or {},
    )


PlacedVerdict = tuple[int, Judgement | MalformedVerdictError]


def parse_item_verdicts(
    metric: JudgedMetric, answer: object, items: Mapping[int, str], *, shown_ids: ShownIds | None = None
) -> dict[int, PlacedVerdict]:
    """Parse the verdicts on numbered items. An error in one item does not affect the others.

    Return, for each number of `items`, the index of its entry in the answer, and its judgement or the error: missing,
    answered more than once, or unreadable. An answer with a number that was not shown is malformed as a whole.
    """
    listed = _require_mapping(answer, "the answer").get("judgements")
    if not isinstance(listed, list):
        raise MalformedVerdictError("malformed", "the answer has no list of judgements")
    numbers = _read_item_numbers(listed, items)
    places: dict[int, list[int]] = {number: [] for number in items}
    for position, number in enumerate(numbers):
        if number is not None:
            places[number].append(position)
    verdicts: dict[int, PlacedVerdict] = {}
    for number, positions in places.items():
        if len(positions) != 1:
            times = f"{len(positions)} verdicts" if positions else "no verdict"
            verdicts[number] = 0, MalformedVerdictError("missing_item", f"the answer has {times} on item {number}")
            continue
        try:
            verdict = parse_verdict(metric, listed[positions[0]], item=items[number], shown_ids=shown_ids)
        except MalformedVerdictError as error:
            verdicts[number] = positions[0], error
        else:
            verdicts[number] = positions[0], verdict
    return verdicts


def _read_item_numbers(listed: list[object], items: Mapping[int, str]) -> list[int | None]:
    """Read the numbers of entries; numbers that may be those of other items make the whole answer malformed."""
    numbers = [_read_item_number(entry.get("item")) if isinstance(entry, Mapping) else None for entry in listed]
    # The only verdict can be about the only item alone.
    if numbers == [None] and len(items) == 1:
        return [*items]
    # Some models number from 0. If one item were missing, the numbers could be those of others.
    if numbers == [*range(len(items))]:
        return [number + 1 for number in numbers if number is not None]
    if unknown := [number for number in numbers if number is not None and number not in items]:
        raise MalformedVerdictError(
            "missing_item",
            f"the answer has a verdict on item {unknown[0]}, but the items are numbered from 1 to {len(items)}; "
            "give each item the number that it is shown with",
        )
    # The others may be numbered from 0 then.
    if None in numbers and len(items) not in numbers:
        raise MalformedVerdictError("missing_item", "the answer has a verdict without the number of its item; give it")
    return numbers


def _read_item_number(written: object) -> int | None:
    """Read the number of an item: a whole number, also as 1.0, "1", "[1]" or "Item 1", else None."""
    if isinstance(written, str) and (digits := _ITEM_NUMBER.fullmatch(written)):
        return int(digits[1])
    is_whole = isinstance(written, int | float) and not isinstance(written, bool) and written == written // 1
    return int(written) if is_whole and isinstance(written, int | float) else None


def _read_value(scale: CategoricalScale | ValueScale, written: object) -> Value:
    """Read a value of a scale, also from a label in another case or with other blanks, or from a number as text."""
    try:
        return scale.read(written)
    except OffScaleError:
        if isinstance(scale, ValueScale):
            number = _NUMBER.fullmatch(written.replace("\u2212", "-")) if isinstance(written, str) else None
            # With steps or below 0, 1/2 may be a half.
            highest = None if scale.step or scale.range[0] < 0 else str(scale.range[1])
            if number and number[2] in {None, highest}:
                return scale.read(float(number[1].replace(",", ".")))
            raise
        text = written if isinstance(written, str) else json.dumps(written, default=str)
        if (label := find_label(text, scale.names)) is None:
            raise
        return label


def find_label(text: str, labels: Iterable[str]) -> str | None:
    """Find the only label that a text can mean, whatever its case, its blanks and what encloses it, or None."""
    matches = [label for label in labels if _fold_label(label) == _fold_label(text)]
    return matches[0] if len(matches) == 1 else None


def _fold_label(text: str) -> str:
    plain = re.sub(r"_|(?<=\w)-(?=\w)", " ", unicodedata.normalize("NFC", text))
    return (" ".join(plain.split()).strip("*`'\". ") or plain).casefold()


def build_object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Build the schema of an object with exactly these fields, all required, as strict modes demand."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _build_text_schema(length: int | None) -> dict[str, Any]:
    return {"type": "string"} if length is None else {"type": "string", "maxLength": length}


def _build_note_schema(note: TextNote | ListNote, length: int | None, *, counted: bool) -> dict[str, Any]:
    match note:
        case TextNote():
            return _build_text_schema(length and 2 * length)
        case ListNote(each=each, most=most):
            text = _build_text_schema(length and (length if counted else length // 2))
            fields = {
                name: {"type": "string", "enum": [*words]} if isinstance(words, tuple) else text
                for name, words in each.items()
            }
            longest = MAX_COUNTED_ENTRIES if counted else MAX_LIST_ENTRIES
            limit = {"maxItems": longest if most is None else min(most, longest)} if length else {}
            return {"type": "array", "items": build_object_schema(fields), **limit}
        case _:
            assert_never(note)


def _parse_notes(metric: JudgedMetric, fields: Mapping[str, object]) -> dict[str, JsonValue]:
    """Parse the notes that the judge wrote, and compute the share notes from them."""
    parsed = {
        name: _parse_note(name, note, fields) for name, note in metric.notes.items() if not isinstance(note, ShareNote)
    }
    shares = {
        name: _compute_share(note, metric.notes[note.share], parsed)
        for name, note in metric.notes.items()
        if isinstance(note, ShareNote)
    }
    return {**parsed, **shares}


def _parse_findings(metric: JudgedMetric, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Parse the findings, in the order of the steps."""
    findings = _require_mapping(fields.get(FINDINGS), FINDINGS)
    names = list_step_names(metric)
    for name in names:
        text = findings.get(name)
        if not isinstance(text, str) or not text.strip():
            raise MalformedVerdictError("malformed", f"{FINDINGS}.{name}: must be a text; give one for each step")
    if extra := [name for name in findings if name not in names]:
        raise MalformedVerdictError("malformed", f"{FINDINGS}.{extra[0]}: there are only {len(names)} steps")
    return tuple(str(findings[name]).strip() for name in names)


def _parse_note(name: str, note: Note, fields: Mapping[str, object]) -> JsonValue:
    content = fields.get(name)
    if isinstance(note, TextNote):
        if not isinstance(content, str):
            raise MalformedVerdictError("malformed", f"{name}: must be a text")
        return content
    if not isinstance(note, ListNote) or not isinstance(content, list):
        raise MalformedVerdictError("malformed", f"{name}: must be a list")
    return [_parse_entry(name, note, entry) for entry in content]


def _parse_entry(name: str, note: ListNote, entry: object) -> dict[str, JsonValue]:
    """Parse one entry of a list note. Every field is a text, and one of the allowed words if the note lists them."""
    fields = _require_mapping(entry, name)
    read: dict[str, JsonValue] = {}
    for field, words in note.each.items():
        content = fields.get(field)
        if not isinstance(content, str):
            raise MalformedVerdictError("malformed", f"{name}.{field}: must be a text")
        label = find_label(content, words) if isinstance(words, tuple) and content not in words else content
        if label is None:
            raise MalformedVerdictError("off_scale", f"{name}.{field}: {content!r} is not one of {', '.join(words)}")
        read[field] = label
    return read


def _count_entries(name: str, note: Note, fields: Mapping[str, object]) -> int:
    """Count the entries of a list note; an entry without text is malformed, because it would count for nothing."""
    entries = _parse_note(name, note, fields)
    listed = entries if isinstance(entries, list) else []
    for number, entry in enumerate(listed, 1):
        if isinstance(entry, dict) and not all(str(part).strip() for part in entry.values()):
            raise MalformedVerdictError("malformed", f"{name}: entry {number} has an empty text; leave it out")
    return len(listed)


def _compute_share(note: ShareNote, counted_note: Note, parsed: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Compute a share note. If there are no entries to count, the share is left out instead of set to 0.

    `most` is set if the list has as many entries as it may have, so that the share may be of a part.
    """
    listed = parsed[note.share]
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    among = [entry for entry in entries if all(entry[field] in words for field, words in note.among.items())]
    hits = sum(all(entry[field] in words for field, words in note.where.items()) for entry in among)
    counted: dict[str, JsonValue] = {"count": hits, "of": len(among)}
    most = counted_note.most if isinstance(counted_note, ListNote) else None
    if most is not None and len(entries) >= most:
        counted["most"] = most
    return {**counted, "share": hits / len(among)} if among else counted


def _require_mapping(content: object, what: str) -> Mapping[str, object]:
    if not isinstance(content, Mapping):
        raise MalformedVerdictError("malformed", f"{what}: must be an object, got {type(content).__name__}")
    return content
