"""The owner of a server and the people who answer over its interface."""

from __future__ import annotations

import uuid

import httpx

PASSWORD = "password1"


class Owner:
    """The owner's key, with a workspace of its own name."""

    def __init__(self, url, key, workspace=None):
        self.url, self.key = url, key
        self.client = httpx.Client(base_url=f"{url}/api/v1", timeout=60)
        self.workspace = workspace or f"w-{uuid.uuid4().hex[:8]}"
        self.workspace_id = self.ask("POST", "/workspaces", {"name": self.workspace})["id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, method, path, content=None, key=None):
        """Make a call; anything but success fails the test."""
        answer = self.client.request(method, path, json=content, headers={"X-Argilla-Api-Key": key or self.key})
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def person(self, role="annotator"):
        """Make a user of the workspace."""
        name = f"{role[:3]}-{uuid.uuid4().hex[:8]}"
        user = self.ask("POST", "/users", {"first_name": name, "username": name, "password": PASSWORD, "role": role})
        self.ask("POST", f"/workspaces/{self.workspace_id}/users", {"user_id": user["id"]})
        return user

    def dataset(self, name):
        """Give a dataset of the workspace as the server tells it, None where there is none."""
        found = self.ask("GET", f"/me/datasets?workspace_id={self.workspace_id}&name={name}")["items"]
        return found[0] if found else None

    def records(self, name):
        """Give the records of a dataset in the order in which they were added."""
        path = f"/datasets/{self.dataset(name)['id']}/records?include=responses&include=suggestions&limit=1000"
        return self.ask("GET", path)["items"]

    def answer(self, person, record, status, value=None, comment=None):
        """Answer the first question on a record as a person, and comment on it."""
        questions = self.ask("GET", f"/datasets/{record['dataset_id']}/questions")["items"]
        answers = zip(questions, (value, comment), strict=False)
        values = {question["name"]: {"value": answer} for question, answer in answers if answer is not None}
        content = {"status": status, "values": values or None}
        self.ask("POST", f"/records/{record['id']}/responses", content, key=person["api_key"])
