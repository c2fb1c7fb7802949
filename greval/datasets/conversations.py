"""Conversations in rows: the turns before the question, in the forms in which tools record them.

A row may have the turns before its question (`history`, `chat_history`), or a whole conversation under `messages` or in
the place of the question, whose last turn of the user is then the question and whose last answer the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
THOUGHTS = frozenset({"reasoning", "thinking", "thought"})
"""The types of the parts of a message that are no answer."""
_LINE_ROLE = re.compile(rf"\s*({'|'.join(ROLE_NAMES)})\s*:\s*", re.IGNORECASE)
_LINE_START = re.compile(rf"^(?=\s*(?:{'|'.join(ROLE_NAMES)})\s*:)", re.IGNORECASE | re.MULTILINE)

PlainTurn = dict[str, object]
SplitConversation = tuple[list[PlainTurn], str, str | None]
"""A conversation as a case has it: the turns before the question, the question, and the answer if there is one."""


def read_turns(value: object) -> list[PlainTurn] | None:
    r"""Read the turns of a conversation in any of its forms, None if it is no conversation."""
    if isinstance(value, str):
        return _read_text(value)
    if isinstance(value, Mapping):
        inner = next((value[name] for name in (*CONVERSATION_NAMES, "turns") if value.get(name) is not None), None)
        return None if inner is None else read_turns(inner)
    if not isinstance(value, Sequence):
        return None
    turns: list[PlainTurn] = []
    for part in value:
        part_turns = _read_part(part)
        if part_turns is None:
            return None
        turns += part_turns
    return turns


def holds_messages(value: object) -> bool:
    """Return whether a value is a message or a list of them: objects that name a role and have a content.

    Example:
        >>> holds_messages([{"role": "user", "content": "Who?"}]), holds_messages([{"year": 1843}]), holds_messages([])
        (True, False, False)
    """
    parts = [value] if isinstance(value, Mapping) else value
    return isinstance(parts, list | tuple) and bool(parts) and all(map(_is_message, parts))


def _is_message(part: object) -> bool:
    message = unwrap_serialised(part) if isinstance(part, Mapping) else {}
    return _find_role(message) is not None and not message.keys().isdisjoint(TEXT_KEYS)


def split_conversation(turns: Sequence[PlainTurn]) -> SplitConversation | None:
    """Split a conversation at the last turn of the user, which is the question; None if the user said nothing."""
    positions = [position for position, turn in enumerate(turns) if turn["role"] == "user"]
    if not positions:
        return None
    history, following = list(turns[: positions[-1]]), turns[positions[-1] + 1 :]
    # Instructions of the system alone are no history.
    if all(turn["role"] == "system" for turn in history):
        history = []
    answers = [str(turn["text"]) for turn in following if turn["role"] == "assistant"]
    return history, str(turns[positions[-1]]["text"]), answers[-1] if answers else None


def _read_text(text: str) -> list[PlainTurn] | None:
    """Read turns from lines that begin with the name of a role."""
    if not _LINE_ROLE.match(text):
        return None
    turns = []
    for part in filter(str.strip, _LINE_START.split(text)):
        match = _LINE_ROLE.match(part)
        if match is None:
            return None
        turns.append(_build_turn(match[1], part[match.end() :].strip()))
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


def _read_message(message: Mapping[str, object]) -> list[PlainTurn] | None:
    """Read a message, or an object of a turn of the user and its answer."""
    message = unwrap_serialised(message)
    if (role := _find_role(message)) is not None:
        content = next((message[name] for name in TEXT_KEYS if message.get(name) is not None), "")
        if not isinstance(content, str | Mapping | list | tuple):
            return None
        text = _join_text(content)
        # A call of a tool has no text.
        return [_build_turn(role, text)] if text else []
    for user_key, assistant_key in PAIR_KEYS:
        if user_key in message and assistant_key in message:
            texts = (_join_text(message[user_key]), _join_text(message[assistant_key]))
            return [_build_turn(role, text) for role, text in zip(("user", "assistant"), texts, strict=True) if text]
    return None


def unwrap_serialised(mapping: Mapping[str, object]) -> Mapping[str, object]:
    """Return the content of an object serialised by LangChain's `dumpd`, and any other mapping unchanged."""
    inner = mapping.get("kwargs") if "lc" in mapping else None
    return inner if isinstance(inner, Mapping) else mapping


def _find_role(message: Mapping[str, object]) -> str | None:
    """Return the known role that an object names, None if it is no message."""
    role = next((name for key in ROLE_KEYS if isinstance(name := message.get(key), str)), "")
    return role if role.strip().lower() in ROLE_NAMES else None


def _join_text(content: object) -> str:
    """Return the text of a message: a text, blocks of text, or an object with one text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        if content.get("type") in THOUGHTS:
            return ""
        inner = next((content[name] for name in (*TEXT_KEYS, "question", "answer") if content.get(name)), None)
        return _join_text(inner)
    if isinstance(content, list | tuple):
        return "".join(map(_join_text, content))
    return ""


def _build_turn(role: str, text: str) -> PlainTurn:
    return {"role": ROLE_NAMES[role.strip().lower()], "text": text}
