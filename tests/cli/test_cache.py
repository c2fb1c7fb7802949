"""`greval cache`: the replies that runs share."""

from __future__ import annotations

import pytest
from command_line import case, judged_by, write

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_the_cache_is_shown_and_cleared(greval_says, fault_server, monkeypatch, tmp_path):
    """Kept answers are counted, serve another run without a call, and are forgotten on request."""
    monkeypatch.setenv("GREVAL_CACHE", str(tmp_path / "kept"))
    write("cases.jsonl", [case(n) for n in range(3)])
    for folder in ("one", "two"):
        words = ["-m", "correctness", *judged_by(fault_server), "--cache", "-o", folder]
        assert greval_says("evaluate", "cases.jsonl", *words)[0] == 0
    assert fault_server.calls == len({body["messages"][-1]["content"] for body in fault_server.bodies})
    assert f"{fault_server.calls} replies" in greval_says("cache", "show")[1]
    assert f"{fault_server.calls} replies deleted" in greval_says("cache", "clear")[1]
    assert "0 replies" in greval_says("cache", "show")[1]
