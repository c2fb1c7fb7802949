# Public names of this part that are not in `greval` itself: `from greval.judging import ...`.

from .judge_check import JudgeCapabilities, check_judge
from .metric_runnable import MetricRunnable
from .model.client import JudgeClient
from .model.openai_batch import format_batch_request, parse_batch_answer
from .model.prices import Prices
from .model.tokens import create_token_counter

__all__ = [
    "JudgeCapabilities",
    "JudgeClient",
    "MetricRunnable",
    "Prices",
    "check_judge",
    "create_token_counter",
    "format_batch_request",
    "parse_batch_answer",
]
