"""A server with the routes of Argilla that push and pull use; it holds its datasets in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from method_server import Asked, MethodServer, Reply

KEY = "owner.key"


class ArgillaStandIn:
    """Workspaces, users, datasets and records, and every request that was made."""

    def __init__(self) -> None:
        self.workspaces = {"w1": "team"}
        self.users = {"u1": "ana", "u2": "bob"}
        self.role = "owner"
        self.datasets: dict[str, dict] = {}
        self.parts: dict[str, dict[str, list[dict]]] = {}
        self.records: dict[str, dict[str, dict]] = {}
        self.requests: list[tuple[str, str]] = []
        self.logins: set[str | None] = set()
        """The `Authorization` headers that came."""
        self.failing: dict[str, tuple[int, object]] = {}
        """The status and detail with which requests to paths with this ending fail."""
        self.is_unstable = False
        """Whether the order of the records changes from page to page, as in Argilla within a batch."""
        self.url = ""

    def respond(  # noqa: C901, PLR0911, PLR0912 - one case a route
        self, method: str, path: str, query: dict[str, str], content: dict
    ) -> tuple[int, object]:
        """Return the status and the content of the answer to a request."""
        self.requests.append((method, path))
        for ending, answer in self.failing.items():
            if path.endswith(ending):
                return answer
        match method, path.strip("/").split("/"):
            case "GET", ["me"]:
                return 200, {"username": "ana", "role": self.role}
            case "GET", ["me", "workspaces"]:
                return 200, {"items": [{"id": key, "name": name} for key, name in self.workspaces.items()]}
            case "POST", ["workspaces"] if self.role == "owner":
                self.workspaces[f"w{len(self.workspaces) + 1}"] = content["name"]
                return 201, content
            case "POST", ["workspaces"]:
                return 403, {"detail": "Operation not allowed"}
            case "GET", ["users"] if self.role != "owner":
                return 403, {"detail": "Operation not allowed"}
            case "GET", ["users"] | ["workspaces", _, "users"]:
                return 200, {"items": [{"id": key, "username": name} for key, name in self.users.items()]}
            case "GET", ["me", "datasets"]:
                found = [one for one in self.datasets.values() if query.get("name", one["name"]) == one["name"]]
                return 200, {"items": [one for one in found if one["workspace_id"] == query["workspace_id"]]}
            case "POST", ["datasets"]:
                new = {**content, "id": f"d{len(self.datasets)}", "status": "draft"}
                self.datasets[new["id"]], self.records[new["id"]] = new, {}
                self.parts[new["id"]] = {"fields": [], "questions": [], "metadata-properties": []}
                return 201, new
            case "PUT", ["datasets", dataset, "publish"]:
                self.datasets[dataset]["status"] = "ready"
                return 200, self.datasets[dataset]
            case "GET", ["datasets", dataset, "records"]:
                whole = [*self.records[dataset].values()]
                shift = self.requests.count((method, path)) if self.is_unstable else 0
                whole = whole[shift:] + whole[:shift]
                begin = int(query["offset"])
                return 200, {"items": whole[begin : begin + int(query["limit"])], "total": len(whole)}
            case "PUT", ["datasets", dataset, "records", "bulk"]:
                for one in content["items"]:
                    key = one.get("external_id") or one["id"]
                    new = {"id": key, "responses": [], "suggestions": [], "metadata": {}}
                    self.records[dataset][key] = {**self.records[dataset].get(key, new), **one}
                return 200, {}
            case "GET", ["datasets", dataset]:
                return 200, self.datasets[dataset]
            case "GET", ["datasets", dataset, part] | ["me", "datasets", dataset, part]:
                return 200, {"items": self.parts[dataset][part]}
            case "POST", ["datasets", dataset, part]:
                new = {**content, "id": f"{part}-{content['name']}"}
                self.parts[dataset][part].append(new)
                return 201, new
        return 404, {"detail": f"no route {method} {path}"}

    def answer(
        self,
        dataset: str,
        sample_id: str,
        user: str,
        value: object,
        status: str = "submitted",
        question: str | None = None,
    ) -> None:
        """Answer a question on a record, by default the first one, as a person does."""
        asked = question or self.parts[dataset]["questions"][0]["name"]
        for record in self.records[dataset].values():
            if record["metadata"]["sample_id"] == sample_id:
                others = [response for response in record["responses"] if response["user_id"] != user]
                values = {asked: {"value": value}}
                record["responses"] = [*others, {"user_id": user, "status": status, "values": values}]


@contextmanager
def serve_argilla() -> Iterator[ArgillaStandIn]:
    """Serve a stand-in on a free port."""
    stand_in = ArgillaStandIn()

    def answer(asked: Asked) -> Reply:
        url = urlsplit(asked.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        stand_in.logins.add(asked.headers["Authorization"])
        if asked.headers["X-Argilla-Api-Key"] != KEY:
            return Reply({"detail": "Unauthorized"}, 401)
        status, content = stand_in.respond(asked.method, url.path.removeprefix("/api/v1"), query, asked.body or {})
        return Reply(content, status)

    with MethodServer(answer) as server:
        stand_in.url = server.url
        yield stand_in
