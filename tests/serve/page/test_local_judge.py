"""The page with a real small model that runs on the CPU."""

from __future__ import annotations

import pytest
from serving import server_process
from visit import Visit

from greval.judging.local.fetch import fetch

MODEL = "smollm2-135m"

pytestmark = pytest.mark.local_model


@pytest.mark.nightly
def test_judges_with_the_embedded_model(chromium, tmp_path):
    """`greval serve --judge local:MODEL` and its page judge a case without any network."""
    fetch(MODEL)
    with server_process("--judge", f"local:{MODEL}", folder=tmp_path) as running, Visit(chromium, running.url) as visit:
        visit.at.set_default_timeout(180_000)
        visit.open("playground?metric=correctness")
        visit.at.get_by_text("Fill in an example").click()
        visit.at.get_by_role("button", name="Judge", exact=True).click()
        visit.sees("1 result")
        assert "1 scored" in visit.text()
        judged = visit.at.locator("article[aria-label=correctness]")
        assert judged.locator(".value-word").inner_text() in {"0", "1"}
        assert judged.locator(".judgement .text").inner_text()
