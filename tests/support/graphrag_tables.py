"""Tables of an index of Microsoft GraphRAG, and a context of a search of it."""

from __future__ import annotations

import pandas as pd

TABLES = {
    "documents": pd.DataFrame({"id": ["d1", "d2"], "title": ["one.txt", "two.txt"]}),
    "text_units": pd.DataFrame({"id": ["u-a", "u-b"], "human_readable_id": [0, 1], "document_id": ["d1", "d2"]}),
    "entities": pd.DataFrame({"id": ["e-a"], "human_readable_id": [4]}),
    "relationships": pd.DataFrame({"id": ["r-a"], "human_readable_id": [7]}),
    "communities": pd.DataFrame({"community": [2, 3], "text_unit_ids": [["u-a"], ["u-a", "u-b"]]}),
    "covariates": None,
}
SOURCES = pd.DataFrame({"id": ["1", "0"], "text": ["second", "first"]})
