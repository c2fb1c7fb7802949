"""A stand-in for a LightRAG object."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

DATA = {
    "entities": [{"entity_name": "Notes", "description": "A text."}, {"entity_name": "Ada", "description": ""}],
    "relationships": [
        {"src_id": "Notes", "tgt_id": "Ada", "description": "Ada wrote them.<SEP>She was first.", "weight": 2.0}
    ],
    "chunks": [{"chunk_id": "c1", "content": "Ada wrote notes.", "file_path": "one.txt"}],
}


class Rag:
    """A system as LightRAG: it makes its calls through a queue whose worker knows no query."""

    def __init__(self, result=None, *, fails=False):
        self.enable_llm_cache = True
        self.llm_response_cache = SimpleNamespace(global_config={"enable_llm_cache": True})
        self.tokenizer = SimpleNamespace(encode=str.split)
        self.text_chunks = SimpleNamespace(get_by_ids=self.get_by_ids)
        self.result = result or {"status": "success", "data": DATA, "llm_response": {"content": "It was Ada."}}
        self.fails = fails
        self.opened = 0
        self.asked = []

    async def initialize_storages(self):
        self.opened += 1

    async def get_by_ids(self, ids):
        return [{"full_doc_id": "doc-1"} if key == "c1" else None for key in ids]

    async def model(self, prompt, **_):
        if self.fails:
            raise ConnectionError("gone")
        await asyncio.sleep(0.001)
        return "two words"

    def _build_global_config(self):
        return {"role_llm_funcs": {"query": self.model, "keyword": self.model, "vlm": None}}

    async def aquery_llm(self, question, param):
        self.asked.append(param)
        asks = self._build_global_config()["role_llm_funcs"]
        try:
            for _ in range(param.calls):
                await asks["query"](question, system_prompt="be short", history_messages=[{"content": "so"}])
        except ConnectionError:
            return self.result
        return self.result


def param(mode="mix", calls=2):
    return SimpleNamespace(mode=mode, calls=calls)
