# The public names of the pipeline: editors read them here, and `lazy_loader` loads them by this table.

from .building import BuildReport, build_index
from .index import ReferenceIndex
from .questions.generation import generate_questions, generate_questions_async
from .questions.records import QuestionReport
from .records import Document
from .settings import IndexSettings, SearchSettings

__all__ = [
    "BuildReport",
    "Document",
    "IndexSettings",
    "QuestionReport",
    "ReferenceIndex",
    "SearchSettings",
    "build_index",
    "generate_questions",
    "generate_questions_async",
]
