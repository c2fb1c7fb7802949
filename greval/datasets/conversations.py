"""Conversations in rows: the turns before the question, in the forms in which tools record them.

A row may have the turns before its question (`history`, `chat_history`), or a whole conversation under `messages` or in
the place of the question, whose last turn of the user is then the question and whose last answer the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from greval.records.case import ROLE_NAMES

HISTORY = "history"
HISTORY_NAMES = (
    *(HISTORY, "chat_history", "conversation_history", "message_history", "dialogue_history", "dialog_history"),
    *("past_messages", "previous_messages", "previous_turns"),
)
"""Names of the turns before the question."""
CONVERSATION_NAMES = ("messages", "conversation", "conversations", "dialogue", "dialog", "chat")
"""Names of a whole conversation."""
ROLE_KEYS = ("role", "type", "from", "sender", "speaker", "author")
TEXT_KEYS = ("content", "text", "value", "message", "parts")
PAIR_KEYS = (
    *(("user", "assistant"), ("human", "ai"), ("question", "answer"), ("input", "output"), ("inputs", "outputs")),
    *(("query", "response"), ("prompt", "response")),
)
"""The names of both sides if a turn of the user and its answer are one object."""
_LINE_ROLE = re.compile(rf"\s*({'|'.join(ROLE_NAMES)})\s*:\s*", re.IGNORECASE)
_LINE_START = re.compile(rf"^(?=\s*(?:{'|'.join(ROLE_NAMES)})\s*:)", re.IGNORECASE | re.MULTILINE)

PlainTurn = dict[str, object]


class SplitConversation(NamedTuple):
    """A conversation as a case has it: the turns before the question, the question, and the answer if there is one."""

    history: list[PlainTurn]
    question: str
    answer: str | None


def read_turns(given: object) -> list[PlainTurn] | None:
    r"""Read the turns of a conversation in any of its forms, None if it is no conversation.

    Example:
        >>> read_turns([{"type": "human", "content": "Who?"}, {"type": "ai", "content": "Ada."}])
        [{'role': 'user', 'text': 'Who?'}, {'role': 'assistant', 'text': 'Ada.'}]
        >>> read_turns([["Who?", "Ada."]]) == read_turns("User: Who?\nAssistant: Ada.")
        True
        >>> read_turns("ancient") is None
        True
    """
    if isinstance(given, str):
        return _read_text(given)
    if isinstance(given, Mapping):
        inner = next((given[name] for name in (*CONVERSATION_NAMES, "turns") if given.get(name) is not None), None)
        return None if inner is None else read_turns(inner)
    if not isinstance(given, Sequence):
        return None
    turns: list[PlainTurn] = []
    for part in given:
        found = _read_part(part)
        if found is None:
            return None
        turns += found
    return turns


def split_conversation(turns: Sequence[PlainTurn]) -> SplitConversation | None:
    """Split a conversation at the last turn of the user, which is the question; None if the user said nothing.

    Instructions of the system alone are no history.
    """
    places = [place for place, turn in enumerate(turns) if turn["role"] == "user"]
    if not places:
        return None
    history, rest = list(turns[: places[-1]]), turns[places[-1] + 1 :]
    if all(turn["role"] == "system" for turn in history):
        history = []
    answers = [str(turn["text"]) for turn in rest if turn["role"] == "assistant"]
    return SplitConversation(history, str(turns[places[-1]]["text"]), answers[-1] if answers else None)


def _read_text(text: str) -> list[PlainTurn] | None:
    """Read turns from lines that begin with the name of a role."""
    if not _LINE_ROLE.match(text):
        return None
    turns = []
    for part in filter(str.strip, _LINE_START.split(text)):
        found = _LINE_ROLE.match(part)
        if found is None:
            return None
        turns.append(_build_turn(found[1], part[found.end() :].strip()))
    return turns


def _read_part(part: object) -> list[PlainTurn] | None:
    """Read one entry of a list of turns: a message, a pair of turns, or a text with its role."""
    if isinstance(part, str):
        return _read_text(part) if _LINE_ROLE.match(part) else None
    if isinstance(part, Mapping):
        return _read_message(part)
    if isinstance(part, list | tuple) and len(part) == 2 and isinstance(part[0], str):  # noqa: PLR2004 - a pair
        if part[0].strip().lower() in ROLE_NAMES and isinstance(part[1], str):
            return [_build_turn(part[0], part[1])]
        sides = zip(("user", "assistant"), part, strict=True)
        return [_build_turn(role, text) for role, text in sides if isinstance(text, str) and text]
    return None


def _read_message(given: Mapping[str, object]) -> list[PlainTurn] | None:
    """Read a message, or an object of a turn of the user and its answer."""
    inner = given.get("kwargs") if "lc" in given else None
    given = inner if isinstance(inner, Mapping) else given
    role = next((given[name] for name in ROLE_KEYS if isinstance(given.get(name), str)), None)
    if isinstance(role, str) and role.strip().lower() in ROLE_NAMES:
        content = next((given[name] for name in TEXT_KEYS if given.get(name) is not None), "")
        if not isinstance(content, str | Mapping | list | tuple):
            return None
        text = _join_text(content)
        return [_build_turn(role, text)] if text else []  # a call of a tool has no text
    for asked, answered in PAIR_KEYS:
        if asked in given and answered in given:
            texts = (_join_text(given[asked]), _join_text(given[answered]))
            return [_build_turn(role, text) for role, text in zip(("user", "assistant"), texts, strict=True) if text]
    return None


def _join_text(content: object) -> str:
    """Return the text of a message: a text, blocks of text, or an object with one text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        named = next((content[name] for name in (*TEXT_KEYS, "question", "answer") if content.get(name)), None)
        return _join_text(named)
    if isinstance(content, list | tuple):
        return "".join(map(_join_text, content))
    return ""


def _build_turn(role: str, text: str) -> PlainTurn:
    return {"role": ROLE_NAMES[role.strip().lower()], "text": text}
