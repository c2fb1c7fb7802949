"""Answers of three methods, and judges of their pairs: a fair one, and one with each habit that duels look for."""

from __future__ import annotations

import random
import re

from greval.records.case import Case
from greval.testing import ScriptedJudge

METHODS = {"strong": 0.9, "middle": 0.0, "weak": -0.9}
QUESTIONS = 60
ANSWERS = re.compile(r"<answer_a>\n(.*)\n</answer_a>\n<answer_b>\n(.*)\n</answer_b>", re.DOTALL)


def write_answers(seed=1, questions=QUESTIONS):
    """Give answers whose quality is a number in them, and whose length has nothing to do with it."""
    rng = random.Random(seed)
    return [
        Case(
            id=f"q{n}",
            question="?",
            method=name,
            answer=f"{rng.gauss(mean, 1):.6f} {'x' * rng.randint(5, 400)}",
            tags={"doc": f"d{n % 12}"},
        )
        for n in range(questions)
        for name, mean in METHODS.items()
    ]


def judge_by(decide):
    """Give a judge that decides by both answers, given as their quality and their length."""

    def answer(messages):
        parts = ANSWERS.search(messages[-1].text).groups()
        sides = [(float(part.split()[0]), len(part)) for part in parts]
        return {"reason": "r", "value": decide(*sides)}

    return ScriptedJudge(answer)


def fair(one, other):
    """Prefer the better answer, and call close ones a tie."""
    gap = one[0] - other[0]
    return "Tie" if abs(gap) < 0.2 else "A" if gap > 0 else "B"


def first_shown(one, other):
    """Prefer the answer that stands first unless the other one is much better."""
    return "A" if one[0] - other[0] > -1.0 else "B"


def longer(one, other):
    return "A" if one[0] - other[0] + (one[1] - other[1]) / 100 > 0 else "B"


def evasive(one, other):
    """Call all but very clear pairs a tie."""
    gap = one[0] - other[0]
    return "Tie" if abs(gap) < 2.5 else "A" if gap > 0 else "B"


JUDGES = {
    "fair": (fair, []),
    "position": (first_shown, ["POSITION BIAS"]),
    "length": (longer, ["LENGTH BIAS"]),
    "ties": (evasive, ["TIE HABIT"]),
}
"""How each judge decides, and the habits that a report names."""
