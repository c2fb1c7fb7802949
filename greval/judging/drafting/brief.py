"""What a draft is asked for: the caller's part of a definition, and what follows from it without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from greval.errors import DefinitionError
from greval.metrics.lint import find_cited_inputs
from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, Over
from greval.records.metric import build_metric

ScaleKind = Literal["categorical", "value"]
DraftScale = ScaleKind | tuple[int, int] | Sequence[str]
MAX_DESCRIBED_LEVELS = 6
"""The most levels of a range that are all described."""
MAX_SUBJECT_PLACE = 15
"""A question that is cited only later in a description is not what is judged: "How well it replies to the question"."""

_ANSWER = re.compile(r"\b(?:the|an|each|every|this|its) (?:system's )?answers?\b", re.IGNORECASE)
_WORDS: dict[str, str] = {
    "chunks": "chunk",
    "triples": "triple",
    "traversal": "walk",
    "context": "context",
    "answer": "answer",
    **dict.fromkeys(CLAIM_FIELDS, "claim"),
}
"""The word for each field that can be judged, besides the question."""


@dataclass(frozen=True)
class DraftBrief:
    """The caller's part of a definition: `bounds` of a range, or `names` of categories, or neither."""

    name: str
    description: str
    over: Over | None
    bounds: tuple[int, int] | None
    names: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, description: str, scale: DraftScale, over: Over | None) -> DraftBrief:
        """Parse the requested scale, and check everything before a paid call is made."""
        match scale:
            case "value":
                brief = cls(name, description, over, (1, 5), ())
            case "categorical":
                brief = cls(name, description, over, None, ())
            case (int() as low, int() as high):
                brief = cls(name, description, over, (low, high), ())
            case _:
                brief = cls(name, description, over, None, tuple(str(label) for label in scale))
        brief._check()
        return brief

    @property
    def given(self) -> dict[str, Any]:
        """The fields of the definition that the caller gave, which no writer changes."""
        return {"name": self.name, "description": self.description, "over": self.over}

    @property
    def levels(self) -> Sequence[int]:
        """The levels of the range to describe: all of a short one, the ends and the middle of a long one."""
        low, high = self.bounds or (0, 0)
        return (*range(low, high + 1),) if high - low < MAX_DESCRIBED_LEVELS else (low, (low + high) // 2, high)

    @property
    def judged_field(self) -> str | None:
        """The field that is judged: the items, else the one that the description cites first; None if it cites none."""
        if self.over:
            return self.over
        places = dict(_find_places(self.description))
        is_subject = places.pop("question", MAX_SUBJECT_PLACE) < MAX_SUBJECT_PLACE
        judged = {need: position for need, position in places.items() if need in _WORDS}
        first = min(judged, key=lambda need: judged[need], default="question" if is_subject else None)
        return "context" if first in {"chunks", "triples"} else first

    @property
    def thing(self) -> str:
        """The word for what is judged, such as `chunk`; `answer` if nothing is cited."""
        field = self.judged_field or "answer"
        return _WORDS.get(field, field)

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that the description alone calls for, in the order of the prompt."""
        return self.select_needs(())

    def select_needs(self, texts: Iterable[str], listed: Iterable[str] = ()) -> tuple[str, ...]:
        """Select the needed fields: the judged one and all that the description and the texts of a draft cite.

        Args:
            texts: The steps and the instructions.
            listed: The fields that the writer lists. They count if the texts cite none, as in other languages.
        """
        cited = set(_find_places(self.description))
        text_needs = {need for text in texts for need in _find_places(text)}
        # Steps on items cite the answer or the context in general, which are needed only if the description cites
        # them.
        cited |= {need for need in text_needs if not self.over or need == "question"}
        # In other languages, no text cites a field.
        if not cited:
            cited = {*listed} or ({"answer"} if not self.over else set())
        chosen = cited | ({self.judged_field} if self.judged_field else set())
        if not self.over and ("context" in chosen or {"chunks", "triples"} <= chosen):
            chosen = (chosen | {"context"}) - {"chunks", "triples"}
        return tuple(need for need in (*PROMPT_FIELDS, *CLAIM_FIELDS) if need in chosen)

    def _check(self) -> None:
        """Raise `DefinitionError` with every error in the caller's part of a definition."""
        scale: dict[str, Any]
        if self.bounds:
            low, high = self.bounds
            levels = self.levels if low < high else self.bounds
            scale = {"range": self.bounds, "better": "higher", "levels": dict.fromkeys(levels, "?")}
        else:
            scale = {"categories": [{"name": name, "means": "?"} for name in self.names or ("a", "b")]}
        needs = ["question", *filter(None, [self.over])]
        try:
            # All but the caller's part is filled in, so that every fault is one of that part.
            build_metric({**self.given, "needs": needs, "scale": scale, "steps": ["?"]})
        except ValidationError as error:
            raise DefinitionError(*list_definition_errors(error)) from error


def list_definition_errors(error: ValidationError) -> list[str]:
    """List the errors of a definition, each with its place."""
    return [
        f"{'.'.join(map(str, fault['loc'])) or 'metric'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors()
    ]


def _find_places(text: str) -> Mapping[str, int]:
    """Find the fields of a case that a text cites, each with the place of its first mention."""
    places = {need: match.start() for need, _, match in find_cited_inputs(text)}
    if match := _ANSWER.search(text):
        places["answer"] = match.start()
    return places
