"""A LangChain callback handler that records the runs it sees."""

from __future__ import annotations

from langchain_core.callbacks import BaseCallbackHandler


class Tracing(BaseCallbackHandler):
    """A handler that writes down the runs as (kind, name, parent's name)."""

    def __init__(self):
        self.runs, self.names, self.ended, self.seen = [], {}, [], {}

    def start(self, kind, name, run_id, parent_run_id, **told):
        self.names[run_id] = name
        self.runs.append((kind, name, self.names.get(parent_run_id)))
        self.seen[kind] = {key: told.get(key) for key in ("tags", "metadata")}

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, name=None, **told):
        self.start("chain", name, run_id, parent_run_id, **told)
        self.inputs = inputs

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, name=None, **told):
        self.start("model", "judge", run_id, parent_run_id, **told)

    def on_chain_end(self, outputs, *, run_id, **_):
        self.ended.append(self.names[run_id])
        self.outputs = outputs

    def on_chain_error(self, error, *, run_id, **_):
        self.ended.append(type(error).__name__)
