# The public names of greval: editors read them here, and `lazy_loader` loads them by this table. What fewer scripts
# need is in the stub of its part, such as `greval.trust`, and every error is in `greval.errors`.

from .analysis.comparison.api import compare
from .analysis.diagnosis.api import diagnose, diagnose_run
from .analysis.duel.judging import duel
from .analysis.gate.api import check_gate
from .datasets.case_reader import read_cases
from .datasets.case_records import read_records
from .judging.metric_draft import draft_metric
from .judging.model.judge import Judge
from .methods.collecting.api import collect
from .methods.inventories import read_inventory
from .methods.loading import load_method
from .methods.protocol import Method
from .metrics.files import parse_metric, write_metric
from .metrics.library import load_metric
from .metrics.scale_text import build_scale_metric
from .metrics.sources import load_metrics
from .records.annotation import Annotation
from .records.case import Case, Chunk, Gold, Response, ResponseUsage, Sample, Traversal, Triple
from .records.formula_metric import FormulaMetric
from .records.metric import (
    CategoricalMetric,
    ComputedMetric,
    DerivedMetric,
    ManyCategoricalMetric,
    ManyValueMetric,
    Metric,
    PreferenceMetric,
    ValueMetric,
)
from .records.result import Failed, Judgement, Result, Scored, Skipped
from .records.scale import CategoricalScale, Category, MeasureScale, ValueScale
from .runs.config.api import evaluate_config
from .runs.evaluation import Run, evaluate, evaluate_async
from .runs.forecast import forecast
from .runs.importing.api import import_verdicts
from .runs.replay import replay
from .runs.runnable import compile_metric
from .runs.store import Store
from .trust.agreement.api import agreement
from .trust.alignment.api import align
from .trust.annotations.reading import read_annotations
from .trust.argilla.pull import pull_from_argilla
from .trust.argilla.push import push_to_argilla
from .trust.estimates.api import estimate
from .trust.panels.api import panel
from .trust.probing.api import probe

__version__: str
__all__ = [
    # Cases: what was asked, what should come back, and what did
    "Case",
    "Chunk",
    "Gold",
    "Response",
    "ResponseUsage",
    "Sample",
    "Traversal",
    "Triple",
    "read_cases",
    "read_records",
    # Metrics: what good means
    "CategoricalMetric",
    "CategoricalScale",
    "Category",
    "ComputedMetric",
    "DerivedMetric",
    "FormulaMetric",
    "ManyCategoricalMetric",
    "ManyValueMetric",
    "MeasureScale",
    "Metric",
    "PreferenceMetric",
    "ValueMetric",
    "ValueScale",
    "build_scale_metric",
    "draft_metric",
    "load_metric",
    "load_metrics",
    "parse_metric",
    "write_metric",
    # Judge one case, or many into a run
    "Failed",
    "Judge",
    "Judgement",
    "Result",
    "Run",
    "Scored",
    "Skipped",
    "Store",
    "compile_metric",
    "evaluate",
    "evaluate_async",
    "evaluate_config",
    "forecast",
    "import_verdicts",
    "replay",
    # Systems under test
    "Method",
    "collect",
    "load_method",
    "read_inventory",
    # What a run found
    "check_gate",
    "compare",
    "diagnose",
    "diagnose_run",
    "duel",
    # How far the judge can be trusted
    "Annotation",
    "agreement",
    "align",
    "estimate",
    "panel",
    "probe",
    "pull_from_argilla",
    "push_to_argilla",
    "read_annotations",
]
