"""A run with everything that a page shows, its page, and a browser."""

from __future__ import annotations

import pytest
from report_pages import judge_demo, make_page


@pytest.fixture(scope="session")
def judged_run(tmp_path_factory):
    """Return the folder of a judged run of the shipped cases with what people said."""
    return judge_demo(tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="session")
def page_text(judged_run):
    return make_page(judged_run)
