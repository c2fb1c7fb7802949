"""Entities of a question as a model names them, also those that the question only describes."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient
from greval.judging.prompt import join_lines, neutralise_fences, wrap_in_fence
from greval.records.result import Usage
from greval.reference.model_call import MATERIAL_RULE, ask_for_object

MAX_NAMES = 8
SYSTEM_PROMPT = f"""\
You read a question that is to be answered from a graph of named things, and name those with which the search begins.

{MATERIAL_RULE}

- names: the people, organisations, places, products, works and events that the question names, and those that it \
describes without a name if you know it. Write each as a text would write it in full. Leave out what the question asks \
for, and words for kinds of things. At most {MAX_NAMES}; often it is one or two.
Answer with JSON only, in this form: {{"names": ["...", "..."]}}"""


async def name_entities(question: str, client: JudgeClient) -> tuple[Sequence[str], Usage]:
    """Return the names that a model gives for the entities of a question, each once, with the usage.

    There are none if its answer cannot be read.
    """
    schema = build_object_schema({"names": {"type": "array", "items": {"type": "string"}}})
    form = AnswerFormat("entity_names", schema, client.tier)
    request = HumanMessage(wrap_in_fence("question", neutralise_fences(question)))
    reply = await ask_for_object(client, form, [SystemMessage(SYSTEM_PROMPT), request])
    listed = (reply.fields or {}).get("names")
    texts = [join_lines(name) for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return [*dict.fromkeys(name for name in texts if name)][:MAX_NAMES], reply.usage
