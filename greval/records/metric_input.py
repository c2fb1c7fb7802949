"""What a metric reads of a case: missing needs, judged items, the fields as JSON, and the keys made of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from greval.errors import DataError
from greval.records.case import (
    OTHER_RESPONSE,
    RESPONSE_FIELDS,
    TAG,
    Case,
    Chunk,
    Claim,
    ClaimField,
    Response,
    Triple,
    read_need,
    swap_responses,
)
from greval.records.metric import JudgedMetric, Metric, Verdicts, is_preference
from greval.records.result import CLAIM_LISTS, CLAIM_SOURCES, SkippedItem, find_listed_field

Item = Chunk | Triple | Claim
WITHOUT_TEXT = "(no text)"
"""What stands for the text of a chunk that has none."""
NO_TEXT = "has no text, only ids are recorded"
"""Why a model does not judge a chunk, or a case of such chunks."""
HISTORY = "history"
"""The field whose turns are shown with the question."""
HASH_DIGITS = 16
# Stored results are found by hashes of this form: a change would have everything judged again.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def explain_missing_needs(metric: Metric, case: Case, besides: Collection[str] = ()) -> str | None:
    """Return the reason why a metric is not defined for a case, None if all needs but those of `besides` are present.

    A metric that lists claims is not defined for a case in which they are recorded.
    """
    if (field := find_listed_field(metric.name)) and getattr(case, field) is not None:
        return f"{field} are recorded, so that none are listed"
    is_pair_judged = is_preference(metric)
    if is_pair_judged and case.other_response is None:
        return f"{OTHER_RESPONSE} is not recorded, and a preference needs two responses; see greval duel"
    needed = [need for need in metric.needs if need not in besides] if besides else metric.needs
    needs = [(need, _explain_absence(need, read_need(case, need), metric)) for need in needed]
    if is_pair_judged:
        swapped, shared = swap_responses(case), [need for need in needed if need in RESPONSE_FIELDS]
        needs += [
            (f"{OTHER_RESPONSE}.{name}", _explain_absence(name, read_need(swapped, name), metric)) for name in shared
        ]
    reasons = [f"{need} {why}{_explain_source(need, case)}" for need, why in needs if why]
    return "; ".join(reasons) or None


def find_method_error(metric: Metric, case: Case) -> str | None:
    """Return why a response that the metric judges was not given, None if all were."""
    if case.error is not None or case.other_response is None or not is_preference(metric):
        return case.error
    return case.other_response.error


def list_judged_items(metric: Metric, case: Case) -> tuple[Item, ...]:
    """List the items that are judged individually: each id once, in the order of first occurrence."""
    by_id: dict[str, Item] = {}
    for item in list_items(metric.over, case):
        # One chunk may be retrieved several times, with different scores.
        if by_id.setdefault(item.id, item) != item and get_item_texts(by_id[item.id]) != get_item_texts(item):
            raise DataError(f"{metric.over}: the id {item.id!r} names two different texts; give each its own id")
    return tuple(by_id.values())


def list_items(field: str | None, case: Case) -> tuple[Item, ...]:
    """List the items of a field, such as the chunks of a case; empty if they are not recorded."""
    match field:
        case "chunks":
            return case.chunks or ()
        case "triples":
            return case.triples or ()
        case "claims":
            return case.claims or ()
        case "expected_claims":
            return case.expected_claims or ()
        case _:
            return ()


def format_item(item: Item) -> str:
    """Return the text of an item, or that it has none."""
    if isinstance(item, Triple):
        return f"{item.subject} - {item.predicate} -> {item.object}"
    return WITHOUT_TEXT if item.text is None else item.text


def drop_textless_chunks(metric: Metric, case: Case) -> Case:
    """Return a case without the chunks that have no text if a model judges it, because it would judge nothing.

    A case whose chunks have no text at all is left as it is, and skipped later.
    """
    if not isinstance(metric, JudgedMetric):
        return case
    responses: list[Case | Response] = [case, *([case.other_response] if case.other_response else [])]
    if all(chunk.text is not None for response in responses for chunk in response.chunks or ()):
        return case
    own_chunks, *second_chunks = (_select_texts(metric, response) for response in responses)
    changes: dict[str, object] = {"chunks": own_chunks}
    for response, chunks in zip(responses[1:], second_chunks, strict=True):
        changes[OTHER_RESPONSE] = response.model_copy(update={"chunks": chunks})
    return case.model_copy(update=changes)


def _select_texts(metric: Metric, response: Case | Response) -> tuple[Chunk, ...] | None:
    """Return the chunks that have a text; all if none has, or None if triples or aggregates are the context."""
    texts = tuple(chunk for chunk in response.chunks or () if chunk.text is not None)
    if texts or not response.chunks:
        return texts if response.chunks else response.chunks
    has_other_context = "chunks" not in metric.needs and (response.triples or response.aggregates)
    return None if has_other_context else response.chunks


def list_skipped_items(metric: Metric, case: Case) -> tuple[SkippedItem, ...]:
    """List the chunks of a case that a judged metric over chunks skips, with the reason."""
    if not isinstance(metric, JudgedMetric) or metric.over != "chunks":
        return ()
    ids = dict.fromkeys(chunk.id for chunk in case.chunks or () if chunk.text is None)
    return tuple(SkippedItem(item=name, reason=NO_TEXT) for name in ids)


def keep_items(case: Case, field: str, ids: frozenset[str]) -> Case:
    """Return the case with only those items of a field whose id is in `ids`."""
    if getattr(case, field) is None:
        return case
    return case.model_copy(update={field: tuple(item for item in list_items(field, case) if item.id in ids)})


def select_metric_input(metric: Metric, case: Case) -> dict[str, JsonValue]:
    """Return the fields of a case that a metric reads, as JSON. A case is judged again if they change."""
    fields, tags = _list_inputs(metric.name, metric.inputs, has_aggregates=bool(case.aggregates))
    part: dict[str, JsonValue] = case.model_dump(mode="json", include=fields, exclude_none=True)
    if case.other_response and is_preference(metric):
        response_fields = fields & type(case.other_response).model_fields.keys() | {"error"}
        part[OTHER_RESPONSE] = case.other_response.model_dump(mode="json", include=response_fields, exclude_none=True)
    if case.history and "question" in fields:
        part[HISTORY] = [turn.model_dump(mode="json") for turn in case.history]
    if case.error is not None:
        part["error"] = case.error
    for tag in tags:
        part[tag] = case.tags.get(tag.removeprefix(TAG))
    return part


@lru_cache
def _list_inputs(name: str, inputs: tuple[str, ...], *, has_aggregates: bool) -> tuple[set[str], set[str]]:
    """Return the fields of a case that a metric reads, and its tags with their prefix."""
    context = ("chunks", "triples", *(("aggregates",) if has_aggregates else ()))
    fields = {field for need in inputs for field in (context if need == "context" else (need,))}
    fields |= {*filter(None, [find_listed_field(name)])}
    tags = {need for need in fields if need.startswith(TAG)}
    return fields - tags, tags


def narrow_case(metric: Metric, case: Case, judged: Mapping[str, Mapping[str, object]]) -> Case:
    """Keep only the items that `uses` selects by the `judged` values, and add the listed claims if they are read."""
    case = drop_textless_chunks(metric, case)
    for field, use in metric.dependencies.items():
        values = judged.get(use.judged_by, {})
        case = keep_items(case, field, frozenset(item for item, value in values.items() if str(value) in use.as_))
    return fill_claims(case, {field: judged.get(CLAIM_LISTS[field]) for field in metric.claim_fields})


def fill_claims(case: Case, listed: Mapping[ClaimField, Mapping[str, object] | None]) -> Case:
    """Return the case with the listed claims, texts by id, in each field of claims that is not recorded."""
    filled: dict[str, object] = {
        field: tuple(Claim(id=name, text=str(text)) for name, text in claims.items())
        for field, claims in listed.items()
        if claims is not None and getattr(case, field) is None
    }
    return case.model_copy(update=filled) if filled else case


def _explain_absence(need: str, content: object, metric: Metric) -> str | None:
    """Return whether the content of a need is not recorded or empty, as a phrase; None if it is usable."""
    if content is None:
        return "is not recorded"
    if (
        isinstance(metric, JudgedMetric)
        and isinstance(content, tuple | list)
        and content
        and not any(map(_has_text, content))
    ):
        return NO_TEXT
    return None if content or may_be_empty(metric, need) else "is empty"


def _has_text(item: object) -> bool:
    return not isinstance(item, Chunk) or item.text is not None


def _explain_source(need: str, case: Case) -> str:
    """Return that neither claims nor the text that makes them are recorded, as the end of a phrase."""
    for field, source in CLAIM_SOURCES.items():
        if field == need and getattr(case, field) is None and getattr(case, source) is None:
            return f", and neither is {source}"
    return ""


def may_be_empty(metric: Metric, need: str) -> bool:
    """Return whether a metric judges a case in which a needed field is recorded and empty.

    An empty answer is judged, and so is a case that `uses` narrowed to no items, unless the metric is over them.
    """
    uses = metric.dependencies
    narrows = (need in uses or (need == "context" and uses)) and need != metric.over
    return need == "answer" or bool(narrows)


def get_item_texts(item: Item) -> tuple[str, ...]:
    """Return the texts of an item: the three of a triple, else the only one."""
    return (item.subject, item.predicate, item.object) if isinstance(item, Triple) else (item.text or "",)


def hash_json(content: JsonValue) -> str:
    """Return the hash of JSON content; the order of keys does not matter."""
    return hash_text(format_canonical_json(content))


def format_canonical_json(content: JsonValue) -> str:
    """Return JSON content as the text that is hashed: ASCII, with sorted keys and without spaces."""
    return _CANONICAL.encode(content)


def hash_text(text: str) -> str:
    """Return the hash of JSON content that is formatted as canonical JSON."""
    return hashlib.sha256(text.encode()).digest()[: HASH_DIGITS // 2].hex()


def compute_fingerprint(
    metric: Metric, judge: Mapping[str, JsonValue], built_on: Mapping[str, str] | None = None
) -> str:
    """Return the fingerprint of a metric with a judge, and with those of the metrics that it builds on, by name.

    `judge` holds the settings that determine the verdicts, including the prompt version; none for a computed metric.
    """
    decisive = _drop_reading(metric.model_dump(mode="json"))
    # Hashed as text, because the order of categories and notes matters.
    definition = json.dumps(decisive)
    return hash_json({"metric": definition, "judge": {**judge}, "built_on": {**(built_on or {})}})


def _drop_reading(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a definition without how verdicts are read, and without the judge, which is beside it."""
    definition = {key: part for key, part in definition.items() if key not in {"pass", "judge"}}
    if notes := definition.get("notes"):
        read: dict[str, JsonValue] = {
            name: {key: part for key, part in note.items() if key != "better"} for name, note in notes.items()
        }
        return {**definition, "notes": read}
    return definition


def compute_content_key(case: Case, metric: Metric, fingerprint: str, verdicts: Verdicts | None = None) -> str:
    """Return the key of the judged content: what the metric reads, its definition, and the verdicts it builds on."""
    read: dict[str, JsonValue] = {name: outcome.model_dump(mode="json") for name, outcome in (verdicts or {}).items()}
    # Nothing is added without verdicts, so that most keys depend on the case and the definition only.
    parts = [select_metric_input(metric, case), *([read] if read else [])]
    return hash_text(f"[{_format_version(metric.name, fingerprint)},{','.join(map(format_canonical_json, parts))}]")


@lru_cache
def _format_version(name: str, fingerprint: str) -> str:
    return f"{format_canonical_json(name)},{format_canonical_json(fingerprint)}"


def hash_place(sample_id: str, method: str, content: str) -> str:
    """Return the key of a judgement from the id and the method of its case and the content key."""
    return hash_text(f"[{','.join(map(format_canonical_json, (sample_id, method, content)))}]")


def compute_keys(case: Case, metric: Metric, fingerprint: str, verdicts: Verdicts | None = None) -> tuple[str, str]:
    """Return the content key of a judgement, and its own key: the hash of case id, method and content key."""
    content = compute_content_key(case, metric, fingerprint, verdicts)
    return content, hash_place(case.id, case.method, content)
