# The public names of greval: editors read them here, and `lazy_loader` loads them by this table.

from .analysis.comparison.api import compare
from .analysis.comparison.records import Comparison, Contrast
from .analysis.data_summary import DataSummary, summarise_data
from .analysis.diagnosis.api import diagnose, diagnose_run
from .analysis.diagnosis.records import Diagnosis
from .analysis.duel.api import summarise_duel
from .analysis.duel.judging import duel, duel_async
from .analysis.duel.records import Duel
from .analysis.gate.api import check_gate
from .analysis.gold.api import check_gold
from .analysis.gold.rules import Finding
from .datasets import RowFault, read_cases
from .datasets.case_records import read_records
from .datasets.chunk_sources import fill_sources
from .datasets.gold import read_gold, with_gold
from .errors import (
    ArgillaArgumentError,
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
from .judging.judge_check import Capabilities, check_judge
from .judging.metric_draft import draft
from .judging.metric_runnable import MetricRunnable
from .judging.model.client import JudgeClient
from .judging.model.judge import Judge
from .judging.model.openai_batch import format_batch_request, parse_batch_answer
from .judging.model.prices import Prices
from .judging.model.tokens import create_token_counter
from .methods import Method
from .methods.collecting.api import Collected, CollectProgress, collect, collect_async
from .methods.fair_context.answer_generation import generate_answers
from .methods.fair_context.context_audit import Audit, audit
from .methods.fair_context.counts import counts_by
from .methods.inventories import read_inventory
from .methods.langchain import LangChainMethod
from .methods.loading import load_method
from .methods.questions.records import QuestionReport
from .methods.reference.building import BuildReport, build_index
from .methods.reference.index import ReferenceIndex
from .methods.reference.records import Document
from .methods.reference.settings import IndexSettings, SearchSettings
from .metrics.computed import COMPUTED_METRICS, formulas
from .metrics.files import parse_metric, read_metric, write_metric
from .metrics.library import load_folder, load_metric, predefined
from .metrics.scale_text import build_scale_metric
from .metrics.sources import load_metrics
from .records.annotation import Annotation
from .records.case import Case, Chunk, Effort, Gold, Node, Response, Sample, Traversal, Triple
from .records.formula_metric import FormulaMetric
from .records.inventory import Inventory
from .records.metric import (
    CategoricalMetric,
    ComputedMetric,
    DerivedMetric,
    ManyCategoricalMetric,
    ManyValueMetric,
    Metric,
    PreferenceMetric,
    ValueMetric,
    set_reason_depth,
)
from .records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
from .records.scale import CategoricalScale, Category, MeasureScale, ValueScale
from .runs.evaluation import Run, evaluate, evaluate_async
from .runs.forecast import Forecast, forecast
from .runs.from_config.api import Evaluation, evaluate_config, evaluate_config_async, forecast_config
from .runs.from_config.plan import ConfigSelection
from .runs.importing.api import import_verdicts
from .runs.merging import merge
from .runs.otel import OpenTelemetryEvents
from .runs.question_generation import generate_questions, generate_questions_async
from .runs.ray_cluster import evaluate_on_ray
from .runs.replay import Replay, replay, replay_async
from .runs.runnable import compile_metric
from .runs.shard import Shard
from .runs.store import Store
from .serve.app import create_app
from .serve.settings import ServerLimits, ServerSettings
from .serve.start import run_server
from .stats.summary import Summary, summarise
from .testing import ScriptedJudge
from .trust.agreement.api import agreement
from .trust.agreement.records import Agreement
from .trust.alignment.api import align, align_async, forecast_align
from .trust.alignment.records import Alignment
from .trust.annotations.adjudication import adjudicate
from .trust.annotations.files import keep_annotations, write_annotations
from .trust.annotations.reading import read_annotations
from .trust.argilla.pull import pull_from_argilla
from .trust.argilla.push import push_to_argilla
from .trust.estimates.api import estimate
from .trust.estimates.records import Estimate
from .trust.labelling.sheets import write_label_sheet
from .trust.panels.api import panel, panel_annotations
from .trust.panels.records import Panel
from .trust.probing.api import forecast_probe, probe, probe_async
from .trust.probing.checks import PROBE_CHECKS
from .trust.probing.records import Probe

__version__: str
__all__ = [
    "COMPUTED_METRICS",
    "PROBE_CHECKS",
    "Agreement",
    "Alignment",
    "Annotation",
    "ArgillaArgumentError",
    "ArgillaError",
    "Audit",
    "BuildReport",
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
    "ConfigSelection",
    "Contrast",
    "DataError",
    "DataSummary",
    "DataWarning",
    "DefinitionError",
    "DerivedMetric",
    "Diagnosis",
    "Document",
    "Duel",
    "Effort",
    "Estimate",
    "Evaluation",
    "Failed",
    "Failure",
    "Finding",
    "Forecast",
    "FormulaMetric",
    "Gold",
    "GrevalError",
    "IndexSettings",
    "Inventory",
    "Judge",
    "JudgeClient",
    "JudgeError",
    "JudgeUnavailableError",
    "Judgement",
    "LangChainMethod",
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
    "OpenTelemetryEvents",
    "OutcomeError",
    "Panel",
    "PreferenceMetric",
    "Prices",
    "Probe",
    "QuestionReport",
    "ReferenceIndex",
    "Replay",
    "Response",
    "Result",
    "RowFault",
    "Run",
    "Sample",
    "Scored",
    "ScriptedJudge",
    "SearchSettings",
    "ServerLimits",
    "ServerSettings",
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
    "build_index",
    "build_scale_metric",
    "check_gate",
    "check_gold",
    "check_judge",
    "collect",
    "collect_async",
    "compare",
    "compile_metric",
    "counts_by",
    "create_app",
    "create_token_counter",
    "diagnose",
    "diagnose_run",
    "draft",
    "duel",
    "duel_async",
    "estimate",
    "evaluate",
    "evaluate_async",
    "evaluate_config",
    "evaluate_config_async",
    "evaluate_on_ray",
    "fill_sources",
    "forecast",
    "forecast_align",
    "forecast_config",
    "forecast_probe",
    "format_batch_request",
    "formulas",
    "generate_answers",
    "generate_questions",
    "generate_questions_async",
    "import_verdicts",
    "keep_annotations",
    "load_folder",
    "load_method",
    "load_metric",
    "load_metrics",
    "merge",
    "panel",
    "panel_annotations",
    "parse_batch_answer",
    "parse_metric",
    "predefined",
    "probe",
    "probe_async",
    "pull_from_argilla",
    "push_to_argilla",
    "read_annotations",
    "read_cases",
    "read_gold",
    "read_inventory",
    "read_metric",
    "read_records",
    "replay",
    "replay_async",
    "run_server",
    "set_reason_depth",
    "summarise",
    "summarise_data",
    "summarise_duel",
    "with_gold",
    "write_annotations",
    "write_label_sheet",
    "write_metric",
]
