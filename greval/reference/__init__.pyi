# The public names of the pipeline: editors read them here, and `lazy_loader` loads them by this table.

from .build_forecast import BuildForecast, forecast_index
from .building import BuildReport, build_index
from .extractor import IndexBudget
from .index import ReferenceIndex
from .questions.generation import generate_questions, generate_questions_async
from .questions.records import QuestionReport
from .records import Document
from .settings import IndexSettings, SearchSettings

__all__ = [
    "BuildForecast",
    "BuildReport",
    "Document",
    "IndexBudget",
    "IndexSettings",
    "QuestionReport",
    "ReferenceIndex",
    "SearchSettings",
    "build_index",
    "forecast_index",
    "generate_questions",
    "generate_questions_async",
]
