# Public names of this part that are not in `greval` itself: `from greval.runs import ...`.

from .config.api import Evaluation, evaluate_config_async, forecast_config
from .config.model import RunConfig
from .forecast import Forecast
from .merging import merge_runs
from .otel import OpenTelemetryEvents
from .ray_cluster import evaluate_on_ray
from .replay import Replay, replay_async
from .shard import Shard

__all__ = [
    "Evaluation",
    "Forecast",
    "OpenTelemetryEvents",
    "Replay",
    "RunConfig",
    "Shard",
    "evaluate_config_async",
    "evaluate_on_ray",
    "forecast_config",
    "merge_runs",
    "replay_async",
]
