"""Request and response schemas of the LangServe protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from greval.records.record import Record
from greval.records.result import Result
from greval.serve.schemas.cases import build_case_schema
from greval.serve.schemas.metrics import INTEGRAL, JudgeName

SentCase = Annotated[Any, WithJsonSchema(build_case_schema())]
"""A case as it is sent; the route parses it, so that all faults are reported in the same form."""


class _Envelope(Record):
    """Base of LangServe bodies; clients send fields that are not used, such as `kwargs`."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Configurable(_Envelope):
    """What a client may choose: one of the server's judges, the first by default."""

    judge: JudgeName | None = None


class LangServeConfig(_Envelope):
    """LangChain's config; all but the judge is dropped, because callbacks and tags are the client's own.

    The server decides how many calls are in flight, so `max_concurrency` has no effect.
    """

    configurable: Configurable | None = None
    max_concurrency: Annotated[int, Field(ge=1), INTEGRAL] | None = None

    @property
    def judge(self) -> str | None:
        """The chosen judge."""
        return self.configurable.judge if self.configurable else None

    @property
    def runnable_config(self) -> dict[str, Any]:
        """The config that is passed to the runnable."""
        return {"configurable": {"judge": self.judge}} if self.judge else {}


class InvokeBody(_Envelope):
    """One case."""

    input: SentCase
    config: LangServeConfig = LangServeConfig()


class BatchBody(_Envelope):
    """Several cases, with one config for all or one for each."""

    inputs: Annotated[list[SentCase], Field(min_length=1)]
    config: LangServeConfig | list[LangServeConfig] = LangServeConfig()


class InvokeMetadata(Record):
    """The id of the run, by which LangChain distinguishes runs."""

    run_id: str
    feedback_tokens: Sequence[str] = ()


class BatchMetadata(Record):
    """The ids of the runs, one for each case."""

    run_ids: Sequence[str]
    responses: Sequence[InvokeMetadata]


class InvokeResponse(Record):
    """One result; `callback_events` is empty, because prompts stay on the server."""

    output: Result
    callback_events: Sequence[Any] = ()
    metadata: InvokeMetadata


class BatchResponse(Record):
    """One result for each case, in their order."""

    output: Sequence[Result]
    callback_events: Sequence[Sequence[Any]] = ()
    metadata: BatchMetadata
