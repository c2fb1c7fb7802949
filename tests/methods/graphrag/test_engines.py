"""Opening a project of Microsoft GraphRAG, with a stand-in for the package.

The stand-in has the names that the adapter uses; benchmarks/graphrag_adapter.py runs the real package.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from greval.errors import MethodError
from greval.methods.graphrag.method import load
from greval.records.case import Sample

SOURCES = {
    "graphrag/config/load_config.py": """
        import os
        from pathlib import Path
        from types import SimpleNamespace

        def load_config(root_dir):
            text = (Path(root_dir) / "settings.yaml").read_text()
            if text:
                raise ValueError(text)
            search = SimpleNamespace(prompt="p", reduce_prompt="r", map_prompt="m", knowledge_prompt="k")
            names = ("local_search", "global_search", "drift_search", "basic_search")
            return SimpleNamespace(table_provider=0, output_storage=0, vector_store=0, **dict.fromkeys(names, search))
        """,
    "graphrag/config/embeddings.py": """
        entity_description_embedding = "entities"
        community_full_content_embedding = "reports"
        text_unit_text_embedding = "units"
        """,
    "graphrag_storage/__init__.py": "def create_storage(config): return config",
    "graphrag_storage/tables/table_provider_factory.py": """
        from types import SimpleNamespace

        async def has(name):
            return name != "covariates"

        def create_table_provider(config, storage):
            return SimpleNamespace(has=has)
        """,
    "graphrag/data_model/data_reader.py": """
        import pandas as pd

        class DataReader:
            def __init__(self, provider):
                pass

            def __getattr__(self, name):
                async def read():
                    rows = {"id": [name], "human_readable_id": [0], "document_id": ["documents"], "title": ["one.txt"]}
                    return pd.DataFrame(rows | {"community": [0], "text_unit_ids": [["text_units"]]})
                return read
        """,
    "graphrag/query/indexer_adapters.py": """
        def __getattr__(name):
            return lambda *given: [name, *(part for part in given if isinstance(part, (int, bool)))]
        """,
    "graphrag/query/factory.py": """
        from types import SimpleNamespace

        import pandas as pd

        class Engine:
            def __init__(self, kind, given):
                self.kind, self.given = kind, given
                self.model = SimpleNamespace(
                    completion_async=self.complete, tokenizer=SimpleNamespace(num_tokens=lambda text: 1)
                )
                store = SimpleNamespace(similarity_search_by_text=lambda **_: [])
                self.context_builder = SimpleNamespace(text_unit_embeddings=store, build_context=self.primed)
                self.query_state = []

            async def complete(self, **_):
                async def parts():
                    yield SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=repr(self)))])
                return parts()

            def __repr__(self):
                names = sorted(self.given.keys() - {"callbacks", "config"})
                return f"{self.kind} { {name: self.given[name] for name in names} }"

            async def primed(self, query):
                return pd.DataFrame({"short_id": ["5"], "full_content": ["All."]}), {}

            async def stream_search(self, query):
                callback = self.given["callbacks"][0]
                callback.on_map_response_end([SimpleNamespace(output_tokens=0 if query == "lost" else 1)])
                callback.on_context({"sources": pd.DataFrame({"id": ["0"], "text": ["a text"]})})
                async for part in await self.model.completion_async(messages=query):
                    yield part.choices[0].delta.content

            async def search(self, query):
                await self.context_builder.build_context(query)
                self.query_state.append(query)
                said = "".join([part async for part in self.stream_search(query)])
                return SimpleNamespace(response=f"{said} {self.query_state}")

        def __getattr__(name):
            return lambda config=None, **given: Engine(name, given)
        """,
    "graphrag/query/structured_search/drift_search/state.py": "class QueryState(list): pass",
    "graphrag/utils/api.py": """
        def get_embedding_store(config, name):
            return "store of " + name

        def load_search_prompt(path):
            return path
        """,
    "graphrag/callbacks/noop_query_callbacks.py": "class NoopQueryCallbacks: pass",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Give the root of a project, with a stand-in for GraphRAG that can be imported."""
    for name, source in SOURCES.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    root = tmp_path / "ragtest"
    root.mkdir()
    (root / "settings.yaml").touch()
    yield root
    for name in [name for name in sys.modules if name.partition(".")[0] in {"graphrag", "graphrag_storage"}]:
        del sys.modules[name]


GRAPH = {
    "reports": ["read_indexer_reports", 1],
    "text_units": ["read_indexer_text_units"],
    "entities": ["read_indexer_entities", 1],
    "relationships": ["read_indexer_relationships"],
    "description_embedding_store": "store of entities",
    "response_type": "List",
}


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("local", GRAPH | {"covariates": {"claims": []}, "system_prompt": "p"}),
        (
            "global",
            {
                "reports": ["read_indexer_reports", 1, True],
                "entities": ["read_indexer_entities", 1],
                "communities": ["read_indexer_communities"],
                "response_type": "List",
                "dynamic_community_selection": True,
                "map_system_prompt": "m",
                "reduce_system_prompt": "r",
                "general_knowledge_inclusion_prompt": "k",
            },
        ),
        ("drift", GRAPH | {"local_system_prompt": "p", "reduce_system_prompt": "r"}),
        (
            "basic",
            {
                "text_units": ["read_indexer_text_units"],
                "text_unit_embeddings": "store of units",
                "response_type": "List",
                "system_prompt": "p",
            },
        ),
    ],
)
async def test_engines(project, method, arguments):
    """Each search gets the parts, prompts and stores that it needs, and its context arrives."""
    here = Path.cwd()
    options = "community_level=1&response_type=List&dynamic_community_selection=true&document=title"
    loaded = load(f"{project}?method={method}&{options}")
    assert Path.cwd() == here
    for _ in range(2):
        response = await loaded(Sample(question="Who?"))
        state = " ['Who?']" if method == "drift" else ""
        assert response.answer == f"get_{method}_search_engine {dict(sorted(arguments.items()))}{state}"
        chunks = [(chunk.id, chunk.text, chunk.doc_id) for chunk in response.chunks]
        reports = [("report:5", "All.", None)] if method == "drift" else []
        assert chunks == [("text_units", "a text", "one.txt"), *reports]
        assert response.usage.llm_calls == 1


async def test_a_lost_batch_is_an_error(project):
    """A batch of reports that global search lost is an error, though there is an answer."""
    with pytest.raises(MethodError, match="GraphRAG lost a batch of community reports"):
        await load(f"{project}?method=global")(Sample(question="lost"))


def test_a_project_that_cannot_be_opened(project):
    """What GraphRAG says of a project is told, with what to try; so is a level that is no number."""
    (project / "settings.yaml").write_text("no key is set", encoding="utf-8")
    with pytest.raises(MethodError, match=r"cannot be opened: ValueError: no key is set; does `graphrag query` work"):
        load(str(project))
    with pytest.raises(MethodError, match="community_level: expected a whole number, got 'two'"):
        load(f"{project}?community_level=two")
