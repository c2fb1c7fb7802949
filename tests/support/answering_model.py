"""A stand-in for a model that answers questions from passages, and that steers a walk over a graph to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CHUNK = re.compile(r"<chunk n[^>]*>\s*(.*?)\s*</chunk>", re.DOTALL)
QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
NAME = re.compile(r"\w+")
WIDTH = 3


def choose_items(body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the first items of a list, as the search asks for the most helpful ones."""
    listed = re.findall(r"^(\d+)\. ", read_message(body), re.MULTILINE)
    return {"items": [int(number) for number in listed[:WIDTH]]}


def decide_stop(body: Mapping[str, Any]) -> dict[str, Any]:
    """Decide that the facts suffice, with what the passages say on the question."""
    answer = find_answer(body)
    return {"missing": "" if answer else "All of it.", "sufficient": bool(answer), "answer": answer}


def find_answer(body: Mapping[str, Any]) -> str:
    """Return the two sentences of the passages that share most letters of words with the question; empty if none do."""
    message = read_message(body)
    found = QUESTION.search(message)
    words = {*NAME.findall(found[1].lower())} if found else set()

    def count_shared(sentence: str) -> int:
        return sum(map(len, words & {*NAME.findall(sentence.lower())}))

    sentences = [sentence for chunk in CHUNK.findall(message) for sentence in SENTENCE.split(chunk)]
    return " ".join(filter(count_shared, sorted(sentences, key=count_shared, reverse=True)[:2]))


def read_message(body: Mapping[str, Any]) -> str:
    return str(body["messages"][-1]["content"])
