"""A scripted judge of claims: each sentence is a claim, and a claim is borne out by the texts that contain it."""

from __future__ import annotations

import re

from greval.testing import ScriptedJudge

METRICS = ("claim_support", "claim_correctness", "expected_claim_coverage", "expected_claim_support")
LISTERS = {"answer_claims": "answer", "expected_answer_claims": "expected_answer"}


def name_metric(messages):
    return re.search(r"Metric: (\w+)\.", messages[0].text)[1]


def read_fence(text, word):
    """Return what stands in the first fence of a word."""
    found = re.search(rf"<{word}>\n(.*?)\n</{word}>", text, re.DOTALL)
    return found[1] if found else ""


def read_items(text, word):
    return re.findall(rf'<{word} n="\d+">\n(.*?)\n</{word}>', text, re.DOTALL)


def split_claims(text):
    return [part.strip() for part in re.split(r"(?<=\.)\s+", text) if part.strip()]


def judge_claims(messages):
    """Answer a call of a metric of claims."""
    name, text = name_metric(messages), messages[-1].text
    if name in LISTERS:
        listed = split_claims(read_fence(text, LISTERS[name]))
        return {"claims": [{"claim": claim} for claim in listed], "reason": "Each sentence is one."}
    return {
        "judgements": [judge_claim(name, text, place, claim) for place, claim in enumerate(read_items(text, "item"), 1)]
    }


def judge_claim(name, text, place, claim):
    """Answer for one claim of a call."""
    if "support" not in name:
        against = read_fence(text, "expected_answer" if name == "claim_correctness" else "answer")
        best = "Correct" if name == "claim_correctness" else "Stated"
        return {"item": place, "reason": "By its words.", "value": best if claim in against else "Not stated"}
    sources = [f"chunk {n}" for n, chunk in enumerate(read_items(text, "chunk"), 1) if claim in chunk]
    noted = {"supported_by": [{"source": source} for source in sources]}
    return {"item": place, **noted, "reason": "By its words.", "value": "Supported" if sources else "Not stated"}


def count_calls(judge):
    """Return the number of calls by metric."""
    names = [name_metric(messages) for messages in judge.calls]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def make_judge():
    return ScriptedJudge(judge_claims)
