"""The OpenAPI document and the server agree on files and on what people said, which need more than a schema gives."""

from __future__ import annotations

import httpx
import pytest
import schemathesis
from agreed_runs import said, write
from file_bodies import register_file_bodies
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from served_runs import YES, rows, uploaded
from serving import served
from waiting import SECONDS

from greval.serve.app import create_app
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import keep_annotations

RUN = "judged"
VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]
MINE = "^/v1/datasets$|/annotations$|/agreement$|/estimate$|/import$|/results\\.|\\.html$|/diagnose$"
EXAMPLES = settings.default.max_examples // 8
SEED = 1
"""The requests are the same in each run; more examples look further (make test-nightly)."""
CONFIG = {
    "seed": SEED,
    "request-timeout": float(SECONDS),
    "checks": {
        "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "409", "422"]},
        "negative_data_rejection": {"expected-statuses": ["4xx"]},
    },
}
"""A schema cannot say what rows of a file are; what is too long may be so for an address at all (431)."""


def known(_, case):
    """Let most well-formed requests find the run and its metric."""
    if case.meta and case.meta.generation.mode.is_positive:
        if "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = RUN
        if "metric" in (case.query or {}):
            case.query["metric"] = "right"
    return case


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Give the address of a server with a data set and an annotated run."""
    runs = tmp_path_factory.mktemp("served") / "runs"
    write(runs / RUN, "right", VERDICTS)
    keep_annotations(runs / RUN, said("right", "ana", VERDICTS))
    app = create_app(ServerSettings(runs=runs), {"scripted": ScriptedJudge([YES])})
    with served(app) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as client:
        uploaded(client, rows(2))
        yield server.url


register_file_bodies()
document = create_app(ServerSettings()).openapi()
schema = schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(CONFIG))
schema = schema.include(path_regex=MINE)
schema.hook("map_case")(known)


@pytest.mark.nightly
@schema.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
def test_every_operation_is_as_it_is_described(case, url):
    """No file or question of any form gives a server's error, or an answer that the document does not tell."""
    case.call_and_validate(base_url=url)
