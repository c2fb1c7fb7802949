"""The reading of a model's reply: which object in it is the answer, and the positions of its values.

Thoughts are no part of an answer. The last object with the expected keys is the answer, whatever its form, unless
something later looks like an object and cannot be read, or several objects differ and nothing says which one counts.
Then the reply is malformed: nothing is read from an earlier object, and nothing is completed.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn, cast

from greval.errors import MalformedVerdictError
from greval.records.scale import Value

ValuePath = tuple[str | int, ...]
TextSpan = tuple[int, int]

_WHITESPACE = " \t\n\r"
_DELIMITERS = f"{_WHITESPACE},}}]"
"""The characters that can follow a value."""
MAX_WRAPPERS = 2
"""The most objects around the answer, such as those of a tool call that a model writes as text."""
_LEAD = re.compile(r"\s*(?:```(?:json)?\s*)?")
_QUOTE = "[\"'\u2018-\u201f]"
MAX_SENTENCE_CHARS = 300
_BARE_KEY = re.compile(rf"\w+\s*(?:{_QUOTE}\s*)?[:\uff1a]")
_QUOTED_OBJECT = re.compile(r"\{(?:\s|\\n)*\\\"")
_ANNOUNCEMENT = re.compile(
    r"\b(?:no|wait|actually|instead|now|so|thus|hence|therefore|final(?:ly)?|verdict|judge?ment|conclu(?:sion|de)|"
    r"correct(?:ed|ions?)?|revis(?:ed|ion)|updated|scratch|sorry|meant)\b",
    re.IGNORECASE,
)
_NEUTRAL_WORDS = re.compile(
    r"(?:the|my|an?|i|we|is|be|it|s|this|that|here|in|on|as|follows|and|json|output|result|value|answer|response|"
    r"evaluation|assessment|decision|score|rating|form(?:at)?|\W)*",
    re.IGNORECASE,
)
"""A sentence before an object makes it the answer if it announces it and has no further words than neutral ones.

Any other word may say of whom or of what else it is the verdict.
"""
_DRAFT_LEAD = re.compile(
    r"\b(?:drafts?|examples?|instance|templates?|placeholders?)\b"
    r"|\bfirst (?:idea|thought|attempt|guess|impression)\b"
    r"|\b(?:initial|preliminary|tentative|earlier|previous) (?:idea|verdict|judge?ment|version)\b"
    r"|\bwould (?:get|receive|earn)\b|\b(?:first|or|if|like|not|than),?\s*\Z|\b(?:maybe|perhaps|hm+|e\.?g)\W*\Z",
    re.IGNORECASE,
)
"""Words of the sentence before an object that make it a draft or an example."""
_REVISION = re.compile(
    r"```json|\b(?:wait|actually(?=,)|on second thoughts?|(?:up)?on reflection|let me (?:re|correct|fix|change)\w*|"
    r"(?:i|above|verdict|value) (?:is|was) (?:wrong|mistaken|incorrect)|scratch that|sorry|oops|retract\w*|"
    r"(?:ignore|disregard) (?:the|this|my)|corrected|corrections?(?=\W*:)|revised|"
    r"(?:should|must) (?:be|have been)(?! \w+ed\b)|no, (?:it|that|the)|"
    r"(?:(?:this|that|it|above) (?:is|was)|only|just) (?:only |just |my |an? |the |first )*(?:draft|example|template)|"
    r"(?:so|thus|hence|therefore),? (?:it|the value) (?:is|should))\b"
    r"|\A[ \t]*,?[ \t]*(?:\?|(?:or|but|rather)\b)"
    # What it announces has never come.
    r"|[:\uff1a][\s*_`]*\Z|(?:\A|\n)#+ [^\n]*+\s*\Z",
    re.IGNORECASE,
)
"""Words after an object that take it back, and the announcement or the code block of another one that is missing."""
_MENTIONED_NUMBER = re.compile(
    # Neither the number of a line nor a part of a word, of a date or of "4 of 5".
    r"(?<![0-9A-Za-z.,/\[])(?<!of )-?[0-9]+(?:[.,][0-9]+)?(?![0-9A-Za-z\]]|[.,:-][0-9])(?!(?<=\n[0-9])[.)] )"
)
_SENTENCE = re.compile(r"([^.!?\n]*)[\s.:`*_>-]*(?:json)?\s*\Z", re.IGNORECASE)


def parse_reply_object(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the object of a schema in a model's reply, whatever stands around it and in whatever form it is written.

    Verdicts on items that are listed in several objects are joined.

    Example:
        >>> schema = {"properties": {"reason": {}, "value": {}}}
        >>> parse_reply_object('<think>{"value": 0}?</think>{"reason": "It fits.", "value": 1}', schema)["value"]
        1
    """
    return _select_object(text, schema.get("properties", {}))[0]


def find_value(text: str, path: ValuePath) -> TextSpan | None:
    """Find the span of the value at `path` of the answer in a reply, or None if the answer is no strict JSON.

    Example:
        >>> text = '{"reason": "r", "value": 1}'
        >>> text[slice(*find_value(text, ("value",)))]
        '1'
    """
    try:
        span = _select_object(text, {str(path[0]): {}})[1]
    except MalformedVerdictError:
        return None
    for step in path:
        span = next((span for name, span in _iterate_parts(text, span[0]) if name == step), None) if span else None
    return span


def compute_probability(tokens: Sequence[Mapping[str, Any]], path: ValuePath) -> float | None:
    """Compute the probability that a model assigned to the value at `path` of its JSON answer; None if unknown.

    It is the product of the probabilities of all tokens that overlap with the value: exp(sum of their `logprob`),
    at most 1. The tokens are those of the whole answer in order, each with `token` and `logprob`, and with `bytes` if a
    token is part of a character.
    """
    pieces = [_read_token_bytes(token) for token in tokens]
    span = _find_value_bytes(pieces, path)
    if span is None:
        return None
    ends = [*accumulate(map(len, pieces))]
    logs: list[Any] = [
        token.get("logprob")
        for token, piece, end in zip(tokens, pieces, ends, strict=True)
        if end - len(piece) < span[1] and end > span[0]
    ]
    return None if None in logs else min(1.0, math.exp(sum(map(float, logs))))


def compute_value_probabilities(
    tokens: Sequence[Mapping[str, Any]], path: ValuePath, values: Sequence[Value]
) -> dict[Value, float] | None:
    """Compute the probabilities of the values that a model could have written at `path`; None if it returned none.

    Each token of the value has alternatives (`top_logprobs`). One that begins exactly one of the values, after the
    tokens before it, adds its probability to that value. The sum is not 1, because other texts are not counted.

    If a value is the beginning of another one, as 1 is of 10, the token after it decides. An alternative that is such a
    beginning counts only if another alternative begins the longer value: a model that can write 10 as one token means 1
    by the token 1.
    """
    # Read as Latin-1, bytes keep the structure of JSON even if tokens split a character.
    pieces = [_read_token_bytes(token).decode("latin-1") for token in tokens]
    span = _find_value_bytes([piece.encode("latin-1") for piece in pieces], path)
    texts = {value: json.dumps(value, ensure_ascii=False).encode().decode("latin-1") for value in values}
    if span is None:
        return None
    probabilities: dict[Value, float] = {}
    written, prefix_probability = "", 1.0
    for token, piece, end in zip(tokens, pieces, accumulate(map(len, pieces)), strict=True):
        start = max(span[0] - (end - len(piece)), 0)
        is_after = end - len(piece) >= span[1]
        if end <= span[0] or (is_after and not _is_beginning(texts.values(), written.lstrip())):
            continue
        if token.get("logprob") is None or not token.get("top_logprobs"):
            return None
        likely: dict[str, float] = {}
        for alternative in token["top_logprobs"]:
            text = _read_token_bytes(alternative).decode("latin-1")
            # The token may begin before the value.
            candidate = (written + text.removeprefix(piece[:start])).lstrip()
            likely[candidate] = likely.get(candidate, 0.0) + (
                math.exp(alternative["logprob"]) if text != piece else 0.0
            )
        begun = {candidate: _find_begun_value(texts, candidate) for candidate in likely}
        for candidate, share in likely.items():
            value = begun[candidate]
            is_open = _is_beginning(texts.values(), candidate) and not any(
                longer.startswith(candidate) and begun[longer] not in {value, None} for longer in likely
            )
            if share and value is not None and not is_open:
                probabilities[value] = probabilities.get(value, 0.0) + prefix_probability * share
        written += piece[start:]
        prefix_probability *= math.exp(token["logprob"])
    if (value := _find_begun_value(texts, written.lstrip())) is not None:
        probabilities[value] = probabilities.get(value, 0.0) + prefix_probability
    return probabilities or None


def _is_beginning(texts: Collection[str], text: str) -> bool:
    """Return whether a text is one of the texts and also the beginning of another one."""
    return text in texts and any(candidate != text and candidate.startswith(text) for candidate in texts)


def _find_begun_value(texts: Mapping[Value, str], written: str) -> Value | None:
    """Find the one value of which a text is the beginning, or which it holds whole; None if it fits several or none."""
    if not written:
        return None
    complete = [
        value
        for value, text in texts.items()
        if written.startswith(text) and written[len(text) : len(text) + 1] in {"", *_DELIMITERS}
    ]
    begun = complete or [value for value, text in texts.items() if text.startswith(written)]
    return begun[0] if len(begun) == 1 else None


def _read_token_bytes(token: Mapping[str, Any]) -> bytes:
    return bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode("utf-8", "surrogatepass")


class _Answer(NamedTuple):
    """An object of a reply: its fields, and its span if it is strict JSON. Without fields it is unreadable: `fault`."""

    fields: dict[str, Any] | None
    span: TextSpan | None = None
    fault: str = ""


class _AnswerNames(NamedTuple):
    """The names of an answer's parts, and those of an entry if it is one list of numbered entries."""

    keys: AbstractSet[str]
    entry_keys: AbstractSet[str]

    @property
    def are_of_verdict(self) -> bool:
        """True for a verdict, which has a reason or a value. Other objects may be drafts by what they are."""
        return bool(self.entry_keys or {"reason", "value"} & self.keys)

    @property
    def all(self) -> AbstractSet[str]:
        """The names of both."""
        return self.keys | self.entry_keys


def _select_object(text: str, properties: Mapping[str, Any]) -> tuple[dict[str, Any], TextSpan | None]:
    """Select the answer of a reply, and find its span if it is strict JSON."""
    keys = properties.keys()
    names = _AnswerNames(keys, _list_entry_keys(properties))
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    # Nearly all replies are one object and nothing else.
    if text.startswith("{", start):
        try:
            fields, end = _DECODER.raw_decode(text, start)
            if keys <= fields.keys() and text[end:].strip() in {"", "```"}:
                return _normalise(_check_texts(fields, text), names), (start, end)
        except (ValueError, RecursionError):
            pass
    parts = _list_parts(text, names)
    objects = [n for n, part in enumerate(parts) if isinstance(part, _Answer) and part.fields != {}]
    matches = [n for n in objects if _is_match(cast("_Answer", parts[n]), names)]
    if not objects:
        _reject_text(text, parts)
    last = cast("_Answer", parts[objects[-1]])
    if last.fields is None:
        raise MalformedVerdictError("malformed", f"the last object cannot be read: {last.fault}")
    # A verdict before it may be a draft.
    if objects[-1] not in matches:
        return last.fields, None
    candidates = _list_candidates(parts, matches, names)
    is_first = not any(part for part in parts[: objects[-1]] if not isinstance(part, str) or _LEAD.sub("", part, 1))
    _check_rest(parts[objects[-1] :], names.all, is_part=not is_first)
    _check_end("".join(part for part in parts[objects[-1] :] if isinstance(part, str)), last.fields, properties)
    # Each object of a joined answer counts.
    if len(candidates) > 1:
        _check_rest(parts, names.all)
    return _join_answers(candidates, properties, names.entry_keys)


def _list_parts(text: str, names: _AnswerNames) -> list[str | _Answer]:
    """List the texts and the objects of a reply in their order, without its thoughts."""
    from greval.judging.reply_thoughts import ThoughtScanner

    parts: list[str | _Answer] = []
    scanner = ThoughtScanner(text)
    for preceding, mark in scanner:
        parts.append(preceding)
        if mark is None and scanner.is_open:
            raise MalformedVerdictError("malformed", "the thoughts have no end, so that nothing is the answer")
        if mark and mark.discards:
            parts.clear()
        elif mark and mark.is_brace:
            answer, scanner.position = _read_object(text, mark.start, names)
            parts.append(answer or "{")
    return parts


def _read_object(text: str, start: int, names: _AnswerNames) -> tuple[_Answer | None, int]:
    """Read what a brace begins: an object, what looks like one and cannot be read, or no object (None)."""
    from greval.judging.lenient_json import CLOSING_QUOTES, parse_lenient_object, skip_space

    if _QUOTED_OBJECT.match(text, start):
        return _read_quoted_object(text, start, names)
    inside = skip_space(text, start + 1)
    letter = text[inside : inside + 1]
    if letter not in {"", "}", *CLOSING_QUOTES} and not _BARE_KEY.match(text, inside):
        return None, start + 1
    try:
        fields, end = _DECODER.raw_decode(text, start)
        inner = _unwrap(fields := _check_texts(fields, text[start:end]), names)
        return _Answer(inner, (start, end) if inner is fields else None), end
    except (ValueError, RecursionError):
        pass
    try:
        fields, end = parse_lenient_object(text, start)
        return _Answer(_unwrap(_check_texts(fields, text[start:end]), names)), end
    except RecursionError:
        fault = "it is nested too deeply"
    except ValueError as error:
        fault = str(error)
    return _Answer(None, fault=fault), _find_naive_end(text, start)


def _read_quoted_object(text: str, start: int, names: _AnswerNames) -> tuple[_Answer, int]:
    r"""Read an object that is written as a JSON text, such as `"{\"value\": 1}"`, with or without the outer quotes."""
    try:
        if text[start - 1 : start] == '"':
            inner, end = _TEXT_DECODER.raw_decode(text, start - 1)
        else:
            end = text.rfind("}", start) + 1 or len(text)
            inner = _TEXT_DECODER.decode(f'"{text[start:end]}"')
        answer, inner_end = _read_object(inner, 0, names)
        if answer and not inner[inner_end:].strip():
            return _Answer(answer.fields, fault=answer.fault), end
        fault = "a JSON text that holds more than an object"
    except ValueError as error:
        fault = str(error)
    return _Answer(None, fault=fault), len(text)


def _find_naive_end(text: str, start: int) -> int:
    """Find the end of a broken object, in which nothing is an answer: the braces from `start` on are in balance."""
    depth = 0
    for brace in re.compile("[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    return len(text)


def _check_texts(fields: dict[str, Any], written: str) -> dict[str, Any]:
    """Raise `ValueError` if a text holds half a character, and keep the judge's backslashes."""
    if "\\" not in written:
        return fields
    if "\\u" in written:
        # Half a character cannot be encoded.
        json.dumps(fields, ensure_ascii=False).encode()
    from greval.judging.lenient_json import restore_backslashes

    restored: dict[str, Any] = restore_backslashes(fields, written)
    return restored


def _unwrap(fields: dict[str, Any], names: _AnswerNames, depth: int = MAX_WRAPPERS) -> dict[str, Any]:
    """Return the object with all keys that an object without them holds, such as `{"verdict": {...}}`, or itself."""
    from greval.judging.reply_thoughts import names_draft

    keys, fields = names.keys, _normalise(fields, names)
    is_part = bool(keys & fields.keys()) or (bool(names.entry_keys) and "item" in fields)
    if not depth or keys <= fields.keys() or (len(fields) > 1 and is_part):
        return fields
    # A reason may quote a verdict.
    contents = [
        content if name in names.all else _read_inner(content)
        for name, content in fields.items()
        if not (names.are_of_verdict and names_draft(name))
    ]
    if names.entry_keys and (lists := [*filter(None, (_read_entries(part, names) for part in (*contents, fields)))]):
        return {next(iter(keys)): lists[0]} if len(lists) == 1 else fields
    singles = [part[0] if isinstance(part, list) and len(part) == 1 else part for part in contents]
    inner = [_unwrap(content, names, depth - 1) for content in singles if isinstance(content, dict)]
    matches = [content for content in inner if keys <= content.keys()]
    return matches[0] if len(matches) == 1 else fields


def _normalise(fields: dict[str, Any], names: _AnswerNames) -> dict[str, Any]:
    """Return an object, and the entries of its list, with the names of the schema, which may be in another case."""
    if not fields.keys() <= names.all:
        folded = {name.casefold(): name for name in names.all}
        renamed = [(folded.get(name.strip().casefold(), name), content) for name, content in fields.items()]
        fields = fields if [name for name, _ in renamed] == [*fields] else _build_object(renamed)
    if not names.entry_keys:
        return fields
    lists = {key: _read_entries(_read_inner(fields[key]), names) for key in names.keys & fields.keys()}
    changed = {key: entries for key, entries in lists.items() if entries and entries != fields[key]}
    return {**fields, **changed} if changed else fields


def _read_entries(content: object, names: _AnswerNames) -> list[Any]:
    """Return the entries of a list, or of an object by their numbers; empty if it is neither."""
    if isinstance(content, dict) and all(map(str.isdecimal, content)):
        is_equal = [isinstance(entry, dict) and str(entry.get("item", n)) == n for n, entry in content.items()]
        content = [{"item": n, **entry} for n, entry in content.items()] if all(is_equal) else []
    if not isinstance(content, list):
        return []
    entries = [_normalise(entry, names) if isinstance(entry, dict) else entry for entry in content]
    return entries if any(isinstance(entry, dict) and "item" in entry for entry in entries) else []


def _read_inner(content: object) -> object:
    """Return what a text holds as JSON, such as the arguments of a tool call, or the content itself."""
    if isinstance(content, str) and content.lstrip().startswith(("{", "[")):
        try:
            return _DECODER.decode(content)
        except (ValueError, RecursionError):
            return content
    return content


def _list_entry_keys(properties: Mapping[str, Any]) -> AbstractSet[str]:
    """List the keys of an entry if all that the schema asks for is one list of numbered entries."""
    contents = [*properties.values()]
    entry = contents[0].get("items", {}).get("properties", {}) if len(contents) == 1 else {}
    return entry.keys() if "item" in entry else frozenset()


def _is_match(answer: _Answer, names: _AnswerNames) -> bool:
    """Return whether an object is an answer or a part of one: it has one of the keys, or is an entry of the list."""
    fields = answer.fields or {}
    return bool(names.keys & fields.keys() if names.keys else fields) or _is_entry(answer, names)


def _is_entry(answer: _Answer, names: _AnswerNames) -> bool:
    # Without its number it is one, too: those of the others may begin with 0.
    return bool(names.entry_keys & (answer.fields or {}).keys())


def _is_form(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is the form of an answer, with `...` as its value, or its schema."""
    contents = [*fields.values()]
    entries = [entry for content in contents if isinstance(content, list) for entry in content]
    return (
        fields.get("value") in ("...", "\u2026")
        or any(isinstance(content, dict) and "type" in content for content in contents)
        or any(_is_form(entry) for entry in entries if isinstance(entry, dict))
    )


def _reject_text(text: str, parts: Sequence[str | _Answer]) -> NoReturn:
    """Raise the error of a reply without an object."""
    if not text.strip():
        raise MalformedVerdictError("malformed", "an empty text")
    thoughts = "" if any(part for part in parts if isinstance(part, str)) else "; all of it is thoughts"
    raise MalformedVerdictError("malformed", f"no complete JSON object in the answer{thoughts}")


def _check_end(text: str, fields: Mapping[str, Any], properties: Mapping[str, Any]) -> None:
    """Reject words after the last object that take it back, name another value or announce what has never come."""
    if match := _REVISION.search(text):
        raise MalformedVerdictError("malformed", f"what follows the last object may take it back: {match[0]!r}")
    if other := _find_other_value(text, fields.get("value"), properties.get("value", {})):
        raise MalformedVerdictError("malformed", f"what follows the last object names another value: {other!r}")


def _find_other_value(text: str, value: object, schema: Mapping[str, Any]) -> str | None:
    """Find a value of the scale in a text, as a word of its own, that is not the given one."""
    allowed = schema.get("enum", ())
    if allowed and isinstance(allowed[0], str):
        # The longest first, because one may begin with another.
        labels = "|".join(map(re.escape, sorted(allowed, key=len, reverse=True)))
        mentions = re.findall(rf"(?<![0-9A-Za-z])(?:{labels})(?![0-9A-Za-z])", text)
        return next((label for label in mentions if label.casefold() != str(value).strip().casefold()), None)
    low, high = (min(allowed), max(allowed)) if allowed else (schema.get("minimum"), schema.get("maximum"))
    if low is None or high is None:
        return None
    mentions = [mention.replace(",", ".") for mention in _MENTIONED_NUMBER.findall(text)]
    given = str(value).strip().removesuffix(".0")
    numbers = (number for number in mentions if low <= float(number) <= high)
    return next((number for number in numbers if number.removesuffix(".0") != given), None)


def _check_rest(parts: Sequence[str | _Answer], keys: AbstractSet[str], *, is_part: bool = True) -> None:
    """Reject what is left of another object beside those that count: a key, or a brace if it may have held them."""
    if faults := [part.fault for part in parts if isinstance(part, _Answer) and part.fault]:
        raise MalformedVerdictError("malformed", f"one of several objects cannot be read: {faults[0]}")
    remaining = "".join(part for part in parts if isinstance(part, str))
    names = "|".join(map(re.escape, keys)) or r"\w+"
    key = rf"{_QUOTE}(?:{names})\\*{_QUOTE}?|(?:{names})\\*{_QUOTE}"
    if match := re.search(rf"(?:{key})\s*[:\uff1a]", remaining):
        raise MalformedVerdictError("malformed", f"what stands beside the last object cannot be read: {match[0]!r}")
    depth = 0
    for brace in re.findall("[{}]", remaining):
        depth += 1 if brace == "{" else -1
        if depth < 0 and (is_part or remaining.strip("} `\n")):
            raise MalformedVerdictError(
                "malformed", "a closing brace stands beside the last object, which may be a part only"
            )


def _list_candidates(parts: Sequence[str | _Answer], matches: Sequence[int], names: _AnswerNames) -> list[_Answer]:
    """List the objects that may be the answer, the last first: up to one that its sentence announces as the answer.

    Drafts, examples and forms before the last object are none.
    """
    leads = {n: _find_lead(parts, n) for n in matches}
    counts = Counter(leads.values())
    drafts = {n: match for n in matches if names.are_of_verdict and (match := _DRAFT_LEAD.search(leads[n]))}
    if match := drafts.get(matches[-1]):
        raise MalformedVerdictError("malformed", f"the last object may be a draft or an example: {match[0]!r}")
    candidates: list[_Answer] = []
    for n in reversed(matches):
        answer = cast("_Answer", parts[n])
        if candidates and (n in drafts or _is_form(answer.fields or {})):
            continue
        candidates.append(answer)
        # Of several that are announced alike, none is the final one.
        if not _is_entry(answer, names) and counts[leads[n]] == 1 and _is_announced(leads[n]):
            break
    return candidates


def _find_lead(parts: Sequence[str | _Answer], end: int) -> str:
    """Find the sentence before an object, after the object before it."""
    texts: list[str] = []
    for n in range(end - 1, -1, -1):
        part = parts[n]
        if not isinstance(part, str) or sum(map(len, texts)) > MAX_SENTENCE_CHARS:
            break
        texts.append(part)
    match = _SENTENCE.search("".join(reversed(texts))[-MAX_SENTENCE_CHARS:])
    return match[1] if match else ""


def _is_announced(sentence: str) -> bool:
    rest, count = _ANNOUNCEMENT.subn(" ", sentence)
    return count > 0 and all(map(_NEUTRAL_WORDS.fullmatch, rest.split()))


def _join_answers(
    answers: Sequence[_Answer], properties: Mapping[str, Any], entry_keys: AbstractSet[str]
) -> tuple[dict[str, Any], TextSpan | None]:
    """Join the candidates, the last first: equal ones are one answer, and lists of verdicts on items one list."""
    last = answers[0]
    fields = [answer.fields or {} for answer in answers]
    if all(candidate == fields[0] for candidate in fields) and not entry_keys & fields[0].keys():
        return fields[0], last.span
    if entry_keys:
        (key,) = properties
        lists = [part.get(key, [part]) for part in reversed(fields)]
        if all(isinstance(entries, list) for entries in lists):
            return {key: [entry for entries in lists for entry in entries]}, None
    if "value" in properties and all("value" in part and part["value"] == fields[0]["value"] for part in fields):
        return fields[0], last.span
    raise MalformedVerdictError(
        "malformed", f"the answer holds {len(answers)} objects that differ, and nothing says which one counts; give one"
    )


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its pairs, and reject a duplicate key, because either value could be meant."""
    built = dict(pairs)
    if len(built) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return built


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


_TEXT_DECODER = json.JSONDecoder(strict=False)
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_reject_constant)


def _find_value_bytes(pieces: Sequence[bytes], path: ValuePath) -> TextSpan | None:
    """Find the span of a value in the bytes of the tokens, which may split a character."""
    # A token may end within a character.
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    span = find_value(text, path)
    if span is None or text[span[0]] in "{[":
        return None
    if text.isascii():
        return span
    start, end = (len(text[:position].encode("utf-8", "surrogateescape")) for position in span)
    return start, end


def _iterate_parts(text: str, start: int) -> Iterator[tuple[str | int, TextSpan]]:
    """Iterate over the keys or indices, and spans, of the object or list at `start`, which must be valid JSON."""
    from greval.judging.lenient_json import skip_space

    opening = text[start]
    if opening not in "{[":
        return
    position, number = skip_space(text, start + 1), 0
    while text[position] not in "}]":
        step: str | int = number
        if opening == "{":
            step, position = _DECODER.raw_decode(text, position)
            position = skip_space(text, skip_space(text, position) + 1)
        end = _DECODER.raw_decode(text, position)[1]
        yield step, (position, end)
        position = skip_space(text, end)
        position = skip_space(text, position + 1) if text[position] == "," else position
        number += 1
