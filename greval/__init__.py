"""Write down what good means for RAG and GraphRAG, have it judged with reasons, and know how sure each figure is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greval.analysis.comparison import Comparison, Contrast, compare
    from greval.analysis.diagnosis import Diagnosis, diagnose, diagnose_run
    from greval.analysis.gold import Finding, check_gold, with_gold
    from greval.datasets import RowFault, read_cases
    from greval.datasets.chunk_sources import fill_sources
    from greval.errors import (
        ArgillaError,
        DataError,
        DataWarning,
        DefinitionError,
        GrevalError,
        JudgeError,
        JudgeUnavailableError,
        MalformedVerdictError,
        MethodError,
        MissingExtraError,
        OutcomeError,
        StoppedError,
        StoreError,
    )
    from greval.judging.judge_check import Capabilities, check_judge
    from greval.judging.metric_draft import draft
    from greval.judging.metric_runnable import MetricRunnable
    from greval.judging.model.client import JudgeClient
    from greval.judging.model.judge import Judge
    from greval.judging.model.prices import Prices
    from greval.methods import Method
    from greval.methods.collecting import Collected, CollectProgress, collect, collect_async
    from greval.methods.fair_context.answer_generation import generate_answers
    from greval.methods.fair_context.context_audit import Audit, audit
    from greval.methods.fair_context.counts import counts_by
    from greval.methods.inventories import read_inventory
    from greval.methods.loading import load_method
    from greval.metrics.files import parse_metric, read_metric, write_metric
    from greval.metrics.library import load_folder, load_metric, predefined
    from greval.records.annotation import Annotation
    from greval.records.case import Case, Chunk, Effort, Gold, Node, Response, Sample, Traversal, Triple
    from greval.records.inventory import Inventory
    from greval.records.metric import (
        CategoricalMetric,
        ComputedMetric,
        ManyCategoricalMetric,
        ManyValueMetric,
        Metric,
        ValueMetric,
    )
    from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
    from greval.records.scale import CategoricalScale, Category, MeasureScale, ValueScale
    from greval.runs.evaluation import Run, evaluate, evaluate_async
    from greval.runs.forecast import Forecast, forecast
    from greval.runs.from_config.api import Evaluation, evaluate_config, evaluate_config_async
    from greval.runs.merging import merge
    from greval.runs.runnable import compile_metric
    from greval.runs.shard import Shard
    from greval.runs.store import Store
    from greval.stats.summary import Summary, summarise
    from greval.trust.agreement import Agreement, agreement
    from greval.trust.alignment import Alignment, align, align_async, forecast_align
    from greval.trust.annotations.adjudication import adjudicate
    from greval.trust.annotations.files import read_annotations, write_annotations
    from greval.trust.estimates import Estimate, estimate
    from greval.trust.panels import Panel, panel, panel_annotations
    from greval.trust.probing import Probe, probe, probe_async

__version__ = "0.1.0"

_HOME = {
    "trust.agreement": ("Agreement", "agreement"),
    "trust.alignment": ("Alignment", "align", "align_async", "foresee"),
    "records.annotation": ("Annotation",),
    "trust.annotations.adjudication": ("adjudicated",),
    "trust.annotations.files": ("read_annotations", "write_annotations"),
    "judging.judge_check": ("Capabilities", "check"),
    "records.case": ("Case", "Chunk", "Effort", "Gold", "Node", "Response", "Sample", "Traversal", "Triple"),
    "judging.model.client": ("JudgeClient",),
    "methods.collecting": ("CollectProgress", "Collected", "collect", "collect_async"),
    "analysis.comparison": ("Comparison", "Contrast", "compare"),
    "runs.runnable": ("compile_metric",),
    "datasets": ("RowFault", "read_cases"),
    "datasets.chunk_sources": ("fill_sources",),
    "analysis.diagnosis": ("Diagnosis", "diagnose", "diagnose_run"),
    "judging.metric_draft": ("draft",),
    "errors": (
        *("ArgillaError", "DataError", "DataWarning", "DefinitionError", "GrevalError", "JudgeError"),
        *("JudgeUnavailableError", "MalformedVerdictError", "MethodError", "MissingExtraError", "OutcomeError"),
        *("StoppedError", "StoreError"),
    ),
    "trust.estimates": ("Estimate", "estimate"),
    "runs.evaluation": ("Run", "evaluate", "evaluate_async"),
    "runs.forecast": ("Forecast", "forecast"),
    "runs.from_config.api": ("Evaluation", "evaluate_config", "evaluate_config_async"),
    "methods.fair_context.answer_generation": ("generated",),
    "methods.fair_context.counts": ("counts_by",),
    "methods.fair_context.context_audit": ("Audit", "audit"),
    "analysis.gold": ("Finding", "check_gold", "with_gold"),
    "records.inventory": ("Inventory",),
    "judging.model.judge": ("Judge",),
    "metrics.library": ("load", "load_folder", "predefined"),
    "runs.merging": ("merge",),
    "methods": ("Method",),
    "methods.inventories": ("read_inventory",),
    "methods.loading": ("load_method",),
    "records.metric": (
        *("CategoricalMetric", "ComputedMetric", "ManyCategoricalMetric", "ManyValueMetric", "Metric", "ValueMetric"),
    ),
    "metrics.files": ("parse_metric", "read_metric", "write_metric"),
    "trust.panels": ("Panel", "panel", "panel_annotations"),
    "judging.model.prices": ("Prices",),
    "trust.probing": ("Probe", "probe", "probe_async"),
    "records.result": ("Failed", "Failure", "Judgement", "Result", "Scored", "Skipped", "Usage"),
    "judging.metric_runnable": ("MetricRunnable",),
    "records.scale": ("CategoricalScale", "Category", "MeasureScale", "ValueScale"),
    "runs.shard": ("Shard",),
    "stats.summary": ("Summary", "summarise"),
    "runs.store": ("Store",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Agreement",
    "Alignment",
    "Annotation",
    "ArgillaError",
    "Audit",
    "Capabilities",
    "Case",
    "CategoricalMetric",
    "CategoricalScale",
    "Category",
    "Chunk",
    "CollectProgress",
    "Collected",
    "Comparison",
    "ComputedMetric",
    "Contrast",
    "DataError",
    "DataWarning",
    "DefinitionError",
    "Diagnosis",
    "Effort",
    "Estimate",
    "Evaluation",
    "Failed",
    "Failure",
    "Finding",
    "Forecast",
    "Gold",
    "GrevalError",
    "Inventory",
    "Judge",
    "JudgeClient",
    "JudgeError",
    "JudgeUnavailableError",
    "Judgement",
    "MalformedVerdictError",
    "ManyCategoricalMetric",
    "ManyValueMetric",
    "MeasureScale",
    "Method",
    "MethodError",
    "Metric",
    "MetricRunnable",
    "MissingExtraError",
    "Node",
    "OutcomeError",
    "Panel",
    "Prices",
    "Probe",
    "Response",
    "Result",
    "RowFault",
    "Run",
    "Sample",
    "Scored",
    "Shard",
    "Skipped",
    "StoppedError",
    "Store",
    "StoreError",
    "Summary",
    "Traversal",
    "Triple",
    "Usage",
    "ValueMetric",
    "ValueScale",
    "adjudicate",
    "agreement",
    "align",
    "align_async",
    "audit",
    "check_gold",
    "check_judge",
    "collect",
    "collect_async",
    "compare",
    "compile_metric",
    "counts_by",
    "diagnose",
    "diagnose_run",
    "draft",
    "estimate",
    "evaluate",
    "evaluate_async",
    "evaluate_config",
    "evaluate_config_async",
    "fill_sources",
    "forecast",
    "forecast_align",
    "generate_answers",
    "load_folder",
    "load_method",
    "load_metric",
    "merge",
    "panel",
    "panel_annotations",
    "parse_metric",
    "predefined",
    "probe",
    "probe_async",
    "read_annotations",
    "read_cases",
    "read_inventory",
    "read_metric",
    "summarise",
    "with_gold",
    "write_annotations",
    "write_metric",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first used: what is not used costs no import."""
    module = _MODULE_OF.get(name)
    if module is None:
        message = f"module 'greval' has no attribute {name!r}"
        raise AttributeError(message)
    found: object = getattr(import_module(f"greval.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
