"""A scripted model that words questions and answers them as a careful one would, except where a test says otherwise."""

from __future__ import annotations

import re
from hashlib import sha256

from greval.reference import generate_questions
from greval.testing import ScriptedJudge

REQUESTS = {
    "Word the draft question.": "wording",
    "List the answers that the chunks support.": "answers",
    "Answer the question, or leave the answer empty.": "recall",
    "Compare the two answers.": "agreement",
}


def name_request(messages):
    return next(REQUESTS[line] for message in messages for line in message.text.splitlines() if line in REQUESTS)


def read_fence(messages, word):
    """Return what stands between the fences of a word in the message with the material."""
    return re.search(rf"<{word}>\n(.*?)\n</{word}>", messages[1].text, re.DOTALL)[1]


class QuestionModelScript:
    """Answers to the four requests. Each keyword replaces one of them by a function of the messages."""

    def __init__(self, **changes):
        self.changes = changes
        self.expected = {}
        self.requests = []

    def __call__(self, messages):
        """Answer one call."""
        name = name_request(messages)
        self.requests.append(name)
        return self.changes.get(name, getattr(self, name))(messages)

    def wording(self, messages):
        """Put a few words before the draft."""
        question = f"Please tell me: {read_fence(messages, 'question')}"
        self.expected[question] = read_fence(messages, "expected_answer")
        return {"question": question, "answer": f"It is {self.expected[question]}"}

    def answers(self, messages):
        """Give the one expected answer, none if the documents do not say."""
        answer = self.expected[read_fence(messages, "question")]
        return {"answers": [] if answer.startswith("The documents do not") else [answer]}

    def recall(self, _):
        return {"answer": ""}

    def agreement(self, _):
        return {"same": True}


def script(**changes):
    """Return a judge with the script, and the script."""
    answers = QuestionModelScript(**changes)
    return ScriptedJudge(answers), answers


def generate_with_log(index, out, log):
    """Generate questions with a model whose calls are noted in a file, one at a time."""
    answers = QuestionModelScript(answers=lambda _: {"answers": ["something like it"]})

    def note(messages):
        with log.open("a", encoding="utf-8") as file:
            texts = "\n".join(message.text for message in messages)
            file.write(f"{name_request(messages)} {sha256(texts.encode()).hexdigest()}\n")
        return answers(messages)

    generate_questions(index, out, 4, model=ScriptedJudge(note), concurrency=1, types=["single_fact", "multi_hop"])
