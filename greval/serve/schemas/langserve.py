"""What LangServe's clients send and get: the envelopes of its protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from greval.records.record import Record
from greval.records.result import Result
from greval.serve.schemas.cases import case_schema
from greval.serve.schemas.metrics import WHOLE, JudgeName

Given = Annotated[Any, WithJsonSchema(case_schema())]
"""A case as it is sent; it is read by the route, so that all its faults are told in one way."""


class _Envelope(Record):
    """LangServe's clients send more than is read, such as `kwargs`."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Configurable(_Envelope):
    """What a client may choose: one of the server's judges, the first where none is named."""

    judge: JudgeName | None = None


class Config(_Envelope):
    """LangChain's config; all but the judge is left out, as callbacks and tags are the client's own.

    How many calls are in flight is the server's to decide, so `max_concurrency` changes nothing.
    """

    configurable: Configurable | None = None
    max_concurrency: Annotated[int, Field(ge=1), WHOLE] | None = None

    @property
    def judge(self) -> str | None:
        """The judge that was chosen."""
        return self.configurable.judge if self.configurable else None

    @property
    def kept(self) -> dict[str, Any]:
        """The config that is handed on."""
        return {"configurable": {"judge": self.judge}} if self.judge else {}


class InvokeBody(_Envelope):
    """One case."""

    input: Given
    config: Config = Config()


class BatchBody(_Envelope):
    """Several cases, with one config for all or one for each."""

    inputs: Annotated[list[Given], Field(min_length=1)]
    config: Config | list[Config] = Config()


class InvokeMetadata(Record):
    """The id of the run, by which LangChain tells runs apart."""

    run_id: str
    feedback_tokens: Sequence[str] = ()


class BatchMetadata(Record):
    """The ids of the runs, one for each case."""

    run_ids: Sequence[str]
    responses: Sequence[InvokeMetadata]


class Invoked(Record):
    """One result; `callback_events` is empty, as prompts stay on the server."""

    output: Result
    callback_events: Sequence[Any] = ()
    metadata: InvokeMetadata


class BatchInvoked(Record):
    """One result for each case, in their order."""

    output: Sequence[Result]
    callback_events: Sequence[Sequence[Any]] = ()
    metadata: BatchMetadata
