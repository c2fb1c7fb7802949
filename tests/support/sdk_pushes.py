"""Pushes through a client of Argilla's SDK, for processes of their own."""

from __future__ import annotations

from contextlib import closing

import argilla as rg

import greval.argilla


def push_through_client(run, metrics, *, dataset, workspace, url, key, **more):
    """Push into a dataset that a client of the SDK finds."""
    client = rg.Argilla(api_url=url, api_key=key)
    with closing(client.http_client):
        found = client.datasets(dataset, workspace=workspace)
        return greval.argilla.push(run, metrics, dataset=found, **more)
