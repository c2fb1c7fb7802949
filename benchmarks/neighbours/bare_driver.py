"""The reference: a plain loop of `ChatOpenAI.ainvoke`, with openai's aiohttp transport."""

from __future__ import annotations

import asyncio
import json

from driver import CRITERION, EXPECTED, QUESTION, RETRIES, RUNNER, STEPS, Task, drive
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import DefaultAioHttpClient
from pydantic import SecretStr

SYSTEM = SystemMessage("\n".join([CRITERION, *STEPS, 'Answer with JSON: {"reason": "...", "value": 0 or 1}.']))


def judge(task: Task) -> list[object]:
    """Judge cases by so many workers."""
    return RUNNER.run(loop(task))


async def loop(task: Task) -> list[object]:
    """Ask for each answer; what fails is None."""
    values: list[object] = []
    left = iter(task.answers)
    async with DefaultAioHttpClient(timeout=task.timeout) as transport:
        model = ChatOpenAI(
            model="fake",
            base_url=task.url,
            api_key=SecretStr("none"),
            timeout=task.timeout,
            max_retries=RETRIES,
            http_async_client=transport,
        )

        async def work() -> None:
            for answer in left:
                text = f"Question: {QUESTION}\nExpected answer: {EXPECTED}\nAnswer: {answer}"
                values.append(await once(model, text))

        await asyncio.gather(*(work() for _ in range(task.concurrency)))
    return values


async def once(model: ChatOpenAI, text: str) -> object:
    """Ask once and read the value; nothing is checked but that there is one."""
    try:
        message = await model.ainvoke([SYSTEM, HumanMessage(text)])
        return json.loads(message.text)["value"]
    except Exception:  # noqa: BLE001 - a plain loop knows of no kinds of failure
        return None


if __name__ == "__main__":
    drive("langchain-openai", judge)
