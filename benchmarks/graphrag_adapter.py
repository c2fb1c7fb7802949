"""Whether the adapters of Microsoft GraphRAG and LightRAG give all that they promise, with the real packages.

    python -m venv SYSTEM_ENV
    SYSTEM_ENV/bin/pip install graphrag==3.3.0 .        # or lightrag-hku==1.5.7
    python benchmarks/graphrag_adapter.py --env SYSTEM_ENV --system graphrag

A server of OpenAI's kind on this machine gives scripted answers and embeddings, so it costs nothing and
needs no network. GraphRAG's project is made from the shared tables of "Operation Dulce" (its own command
fills the vector store); LightRAG indexes a short text. Exit code 1 where something is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "systems"))

from ask import MARK  # noqa: E402 - beside this file
from model_server import ModelServer  # noqa: E402 - the same

from greval.methods.inventories import read_inventory  # noqa: E402 - the same
from greval.records.inventory import IndexInventory  # noqa: E402 - after the path is set

REPOSITORY = HERE.parent
DULCE = REPOSITORY.parent / "shared" / "data" / "msgraphrag_output" / "v3_dulce"
QUESTION = "Who are the agents of the Paranormal Military Squad at Dulce base?"
QUESTIONS = [QUESTION, *(f"{word}: {QUESTION}" for word in ("BREAK", "SILENT", "HALF"))]
"""One that is answered, then those that the server fails: in each call, with nothing, in a part of DRIFT's calls."""
METHODS = {
    "graphrag": (("local", "drift"), ("global", "basic")),
    "lightrag": (("local", "global", "hybrid", "mix"), ("naive",)),
}
"""The methods of each system that use the graph, and those that do not."""
NAME = {"graphrag": "title", "lightrag": "path"}
# By its defaults DRIFT leaves no room in its context for entities and relationships: their share is what
# text units (0.9) and community reports (0.1) leave.
SETTINGS = """completion_models:
  default_completion_model: {{model_provider: openai, model: gpt-4o-mini, api_key: x, api_base: {url}}}
embedding_models:
  default_embedding_model: {{model_provider: openai, model: text-embedding-3-small, api_key: x, api_base: {url}}}
vector_store: {{type: lancedb, db_uri: output/lancedb, vector_size: 64}}
drift_search:
  {{n_depth: 2, drift_k_followups: 2, primer_folds: 1,
    local_search_text_unit_prop: 0.5, local_search_community_prop: 0.2}}
workflows: [generate_text_embeddings]
"""


def main() -> int:
    """Ask each method, print what arrived, and tell what is missing."""
    args = arguments()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        environment = settings(args.env, server.url, folder)
        spec = {"graphrag": graphrag, "lightrag": lightrag}[args.system](args.env, Path(folder), environment)
        inventory = read_inventory(f"{folder}?document={NAME[args.system]}")
        print(f"{len(inventory.documents)} documents, {len(inventory.chunks)} chunks", end=", ")
        print(f"{len(inventory.nodes)} nodes, {len(inventory.edges)} edges; {' '.join(inventory.notes)}")
        graph, plain = METHODS[args.system]
        methods = {name: spec.format(method=name) for name in (*graph, *plain)}
        told = asked(args.env, environment, {"address": server.url, "methods": methods, "questions": QUESTIONS})
        for name, used in methods.items():
            rows = [row for row in told if row["method"] == name]
            found = [*missing(rows, name in graph), *unknown(rows[0], inventory), *unranked(rows[0], used)]
            faults += [f"{name}: {fault}" for fault in found]
            print(f"{name:7}", shown(rows))
    print("\n".join(f"MISSING {fault}" for fault in faults) or "nothing is missing")
    return bool(faults)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", type=Path, required=True, help="environment with the system and greval")
    parser.add_argument("--system", choices=("graphrag", "lightrag"), default="graphrag")
    return parser.parse_args()


def settings(env: Path, url: str, folder: str) -> dict[str, str]:
    """Give the environment variables: this greval, the server, and tokenizer files that need no network."""
    bundled = next(env.glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"), None)
    return {
        **os.environ,
        "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{HERE / 'systems'}",
        "MODEL_URL": url,
        "WORKING_DIR": folder,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        **({"TIKTOKEN_CACHE_DIR": str(bundled)} if bundled else {}),
    }


def graphrag(env: Path, folder: Path, environment: Mapping[str, str]) -> str:
    """Make a project from the shared tables, have GraphRAG fill its vector store, and name the method."""
    shutil.copytree(DULCE, folder / "output", copy_function=shutil.copyfile)
    (folder / "input").mkdir()
    (folder / "settings.yaml").write_text(SETTINGS.format(url=environment["MODEL_URL"]), encoding="utf-8")
    python(env, environment, "-m", "graphrag", "index", "--root", str(folder), "--skip-validation")
    return f"graphrag:{folder}?method={{method}}&document=title"


def lightrag(env: Path, folder: Path, environment: Mapping[str, str]) -> str:
    """Have LightRAG index a short text, and name the method."""
    python(env, environment, str(HERE / "systems" / "lightrag_system.py"))
    told = json.loads((folder / "kv_store_full_relations.json").read_text(encoding="utf-8"))
    print(f"indexed {len(told)} documents")
    return "lightrag:lightrag_system:build?mode={method}&document=path"


def asked(env: Path, environment: Mapping[str, str], given: Mapping[str, object]) -> list[dict]:
    """Give what came for each question and each method."""
    told = python(env, environment, str(HERE / "systems" / "ask.py"), json.dumps(given))
    return [json.loads(line.removeprefix(MARK)) for line in told.splitlines() if line.startswith(MARK)]


def python(env: Path, environment: Mapping[str, str], *given: str) -> str:
    """Run the system's Python; what it prints comes back, and its errors are shown where it fails."""
    command = [str(env / "bin" / "python"), *given]
    done = subprocess.run(command, env=dict(environment), text=True, capture_output=True, check=False, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(given[:3])} failed:\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done.stdout


def missing(rows: list[dict], graph: bool) -> Iterator[str]:  # noqa: FBT001 - whether the method uses the graph
    """Tell what a method should have given and did not."""
    good, *bad, together = rows
    response = good.get("response")
    if response is None:
        yield f"no response: {good['error']}"
        return
    usage, server = response["usage"], good["server"]
    yield from (f"no {name}" for name in ("answer", "chunks") if not response[name])
    yield from (f"chunk {c['id']} has no document" for c in response["chunks"] if not c["doc_id"])
    if graph and not (response["triples"] and response["traversal"]):
        yield "no triples or no walk"
    if not graph and response["triples"]:
        yield "triples where the method has none"
    yield from (f"no {name}" for name in ("latency", "prompt_tokens", "output_tokens") if not usage[name])
    if usage["llm_calls"] != server["calls"]:
        yield f"{usage['llm_calls']} calls told, {server['calls']} made"
    if usage["prompt_tokens"] < server["prompt_tokens"] / 2:
        yield f"{usage['prompt_tokens']} prompt tokens told for {server['prompt_tokens']} words"
    must = bad if good["method"] == "drift" else bad[:2]
    yield from (f"no error for {row['question']!r}" for row in must if "error" not in row)
    if None in together["at_once"] or sum(together["at_once"]) != together["server"]:
        yield f"at once {together['at_once']} calls told, {together['server']} made"


def unknown(good: dict, inventory: IndexInventory) -> Iterator[str]:
    """Tell what arrived and is not in the index as `read_inventory` reads it."""
    response = good.get("response") or {"chunks": (), "traversal": None}
    walk = response["traversal"] or {"start_nodes": (), "traversed_edges": ()}
    edges = [tuple(edge) for edge in walk["traversed_edges"]]
    yield from (f"edge {edge} is not in the index" for edge in edges if edge not in inventory.edges)
    yield from (f"node {node} is not in the index" for node in walk["start_nodes"] if node not in inventory.nodes)
    for chunk in response["chunks"]:
        if not chunk["id"].startswith("report:") and inventory.chunks.get(chunk["id"]) != chunk["doc_id"]:
            yield f"chunk {chunk['id']} is not in the index, or of another document"


def unranked(good: dict, spec: str) -> Iterator[str]:
    """Tell where the chunks of GraphRAG's basic search are not in the order of their similarity."""
    if spec.startswith("graphrag") and good["method"] == "basic" and "response" in good:
        scores = [chunk["score"] for chunk in good["response"]["chunks"]]
        if None in scores or scores != sorted(scores, reverse=True):
            yield f"chunks are not in the order of their similarity: {scores}"


def shown(rows: list[dict]) -> str:
    """Give a line about what arrived, and one about each error."""
    good, *bad, together = rows
    if "response" not in good:
        return good["error"]
    response, usage = good["response"], good["response"]["usage"]
    walk = response["traversal"] or {"start_nodes": (), "traversed_edges": ()}
    told = (
        f"answer {len(response['answer'])} characters, chunks {len(response['chunks'])} "
        f"(reports {sum(c['id'].startswith('report:') for c in response['chunks'])}), "
        f"triples {len(response['triples'] or ())}, start nodes {len(walk['start_nodes'])}, "
        f"edges {len(walk['traversed_edges'])}, calls {usage['llm_calls']} (server {good['server']['calls']}), "
        f"prompt tokens {usage['prompt_tokens']} (server {good['server']['prompt_tokens']} words), "
        f"output tokens {usage['output_tokens']}, {usage['latency']:.2f} s, "
        f"five at once {together['at_once']} (server {together['server']})"
    )
    return "\n        ".join(
        [told, *(f"{row['question'].split()[0]} {row.get('error', 'answered')[:160]}" for row in bad)]
    )


if __name__ == "__main__":
    sys.exit(main())
