"""The forms in which models mark their thoughts. Thoughts are no part of an answer, in whichever way it is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_DRAFT_WORDS = r"draft|example|critique|brouillon|entwurf|borrador|rascunho|bozza|черновик|草稿|下書き|초안"
_WORDS = (
    r"think|thought|reasoning|reflect|scratch_?pad|monologue|analysis|rationale|deliberat|contemplat|brainstorm|"
    r"working_out|inner_(?=prefix|suffix)|(?<![a-z])cot(?![a-z])|"
    r"r[ée]flexion|pens[ée]e|raisonnement|denken|gedanke|überlegung|pensami?ento|razonamiento|raciocínio|ragionamento|"
    rf"размышл|рассужд|мысл|思[考维維路]|推理|推論|考え|생각|추론|{_DRAFT_WORDS}"
)
"""What the name of a tag around thoughts holds, as in `<seed:think>`, `<|START_THINKING|>` or `<begin_of_thought>`."""
_CHANNEL = r"<\|channel\|?>\s*(?P<channel>[a-z]*)(?P<tool>[^<>{}]*\bto=)?"
_THOUGHT_CHANNEL = re.compile(rf"commentary|{_WORDS}")
_STARTS = re.compile(r"[<◁\uff1c&\[【`{]|-->")
_MARKS = re.compile(
    rf"""
      (?:[<◁\uff1c]|&lt;)[|\uff5c]?\s*(?P<slash>/)?\s*(?P<name>[\w:.-]{{0,40}}?(?:{_WORDS})[\w:.-]{{0,40}})(?:\s[^<>{{}}]*)?[|\uff5c]?(?:[>▷\uff1e]|&gt;)
    | \[(?P<bracket>think(?:ing)?)\] | [\[【]/(?P<bracket_end>think(?:ing)?|thoughts?|reasoning|scratch_?pad|思考)[\]】]
    | {_CHANNEL}
    | (?P<message_end><\|(?:end|return|call)\|>) | (?P<channel_end><channel\|>)
    | (?P<details><details\b[^<>]*(?:>\s*<summary>[^<>]*)?(?:think|thought|reason)[^<>]*(?:>|(?=<)))
    | (?P<details_end></details>)
    | (?P<comment><!--) | (?P<comment_end>-->)
    | (?P<unused><unused94>) | (?P<unused_end><unused95>)
    | (?P<fence>```\s*(?:think|thought|reasoning)\w*) | (?P<fence_end>```(?!\w))
    | (?P<brace>\{{)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WORDED_START = re.compile(
    r"\s*(?:(?:assistant)?(?-i:analysis\s?(?=[A-Z\"{<]))|thinking\.\.\.|here(?:\sis|'s)\smy\sthought\sprocess:)",
    re.IGNORECASE,
)
_WORDED_END = re.compile(
    r"assistant\s?final(?=[\s{\[`\"A-Z])|here(?:\sis|'s)\smy\sresponse:|\.\.\.done\sthinking\.", re.IGNORECASE
)
"""Thoughts in words: what is left of channels without their special tokens, and the sentences of Granite and Ollama."""
_TOOL_CALL = re.compile(r"\bto=[\w.]+\s*$")
_END = re.compile(r"^(?:end|stop|close)|(?:end|stop|close|suffix)$")
_SIDE = re.compile(r"^(?:begin|start|end|stop|close)(?:_of)?|(?:begin|start|end|stop|close|prefix|suffix)$|[_:.-]")
"""What a name has on one side only, as `begin_of_thought` and `end_of_thought`."""
_DRAFTS = re.compile(_DRAFT_WORDS)
_KEPT_ENDS = frozenset({"fence_end", "message_end"})
"""Ends that also stand after an answer."""


class Mark(NamedTuple):
    """A place in a reply: a brace of the answer (`is_brace`), or the start or the end of thoughts.

    `discards` is true if everything before was thoughts, because only their end is marked.
    """

    start: int
    is_brace: bool = False
    discards: bool = False


class ThoughtScanner:
    """Separates the answer of a reply from thoughts. A caller skips what it has read by setting `position`.

    With `drafts`, tags around drafts and examples are thoughts too.
    """

    def __init__(self, text: str, *, drafts: bool = True) -> None:
        """Begin at the start of the text, or after thoughts that are marked in words."""
        self.text = text
        self.position = 0
        self._drafts = drafts
        self._open: list[str] = []
        # A quick look first, because the pattern is tried at each letter.
        ends = [*_WORDED_END.finditer(text)] if "inal" in text or "ponse:" in text or "one thinking" in text else []
        if _WORDED_START.match(text) and not ends:
            self._open.append("words")
        elif ends:
            self.position = ends[-1].end()

    @property
    def is_open(self) -> bool:
        """True at the end of a text whose thoughts have no end."""
        return bool(self._open)

    def __iter__(self) -> Iterator[tuple[str, Mark | None]]:
        """Iterate over the texts of the answer, each with the mark after it; the last one has none."""
        begin = self.position
        search_from = begin
        while (start := _STARTS.search(self.text, search_from)) is not None:
            match = _MARKS.match(self.text, start.start())
            if match is None:
                search_from = start.end()
                continue
            was_open = bool(self._open)
            preceding = "" if was_open else self.text[begin : match.start()]
            self.position = match.end()
            if not match["brace"]:
                discards = self._pass(match)
                is_text = not (was_open or self._open or discards)
                yield preceding + match[0] if is_text else preceding, Mark(match.start(), discards=discards)
            elif not was_open:
                yield preceding, Mark(match.start(), is_brace=True)
            begin = search_from = self.position
        yield ("" if self._open else self.text[begin:]), None

    def _pass(self, match: re.Match[str]) -> bool:
        """Open or close thoughts at a mark, and return whether everything before it was thoughts."""
        kind = str(match.lastgroup)
        # Other words in brackets are headings, unless they have an end.
        if tag := match["name"] or match["bracket"] or match["bracket_end"]:
            return self._pass_tag(tag.lower(), is_end=bool(match["slash"] or match["bracket_end"]))
        if match["channel"] is not None:
            is_call = match["tool"] or _TOOL_CALL.search(self.text[: match.start()][-100:])
            name = match["channel"].lower()
            if name == "final" or is_call:
                self._open.clear()
                return True
            if _THOUGHT_CHANNEL.search(name):
                return self._begin("channel")
            self._close("channel")
            return False
        if kind.endswith("_end"):
            name = "channel" if kind == "message_end" else kind.removesuffix("_end")
            return self._close(name) and kind not in _KEPT_ENDS
        return self._begin(kind)

    def _pass_tag(self, name: str, *, is_end: bool) -> bool:
        if not self._drafts and _DRAFTS.search(name):
            return False
        plain = _SIDE.sub("", name)
        return self._close(plain) if is_end or _END.search(name) else self._begin(plain)

    def _begin(self, name: str) -> bool:
        if name not in self._open:
            self._open.append(name)
        return False

    def _close(self, name: str) -> bool:
        """Close thoughts, and return whether none were open, so that only their end is marked."""
        if name in self._open:
            del self._open[self._open.index(name) :]
            return False
        return not self._open


def names_draft(name: str) -> bool:
    """Return whether the name of a part says that it is a draft or an example."""
    return _DRAFTS.search(name.casefold()) is not None


def remove_thoughts(text: str) -> str:
    """Remove the thoughts from a text that a model wrote. Thoughts without an end reach to the end of the text.

    Example:
        >>> remove_thoughts("<think>Ada, or Mary?</think>It was Ada.")
        'It was Ada.'
        >>> remove_thoughts("Ada, or Mary?</think>It was Ada.")
        'It was Ada.'
    """
    parts: list[str] = []
    for preceding, mark in ThoughtScanner(text, drafts=False):
        parts = [] if mark and mark.discards else [*parts, preceding, "{" if mark and mark.is_brace else ""]
    return "".join(parts)
