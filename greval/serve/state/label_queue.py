"""The items that a person labels next, as the server responds with them."""

from __future__ import annotations

from pathlib import Path

from greval.errors import ArgillaArgumentError
from greval.serve.problems import build_fault, build_invalid_request_error
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors
from greval.trust.labelling.api import plan_labels


def dump_label_queue(  # noqa: PLR0913 - the fields of the request
    folder: Path, *, metric: str, annotator: str, sample: str | None, blind: bool, seed: int, limit: int
) -> str:
    """Return the items that an annotator labels next as JSON.

    All judged items of the run are read each time, so the server calls it in a child process.
    """
    with hide_paths_in_errors(folder):
        try:
            queue = plan_labels(
                folder, metric, annotator=annotator, sample=sample, suggestions=not blind, seed=seed, limit=limit
            )
        except ArgillaArgumentError as error:
            raise build_invalid_request_error([build_fault(f"body.{error.argument}", error.reason)]) from error
        return dump_without_paths(queue, folder)
