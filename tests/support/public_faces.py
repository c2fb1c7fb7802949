"""The packages and modules with public names."""

from __future__ import annotations

from importlib import import_module

from doc_pages import ROOT

PARTS = sorted(f"greval.{path.parent.name}" for path in (ROOT / "greval").glob("*/__init__.pyi"))
"""The parts and apps whose public names a stub lists; a copy of greval may lack the apps."""
FACES = {
    name: import_module(name)
    for name in ("greval", *PARTS, "greval.argilla", "greval.errors", "greval.ranking", "greval.testing")
}
NAMES = sorted({public for face in FACES.values() for public in face.__all__})
