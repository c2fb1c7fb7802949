"""greval: write down what good means as a metric, have it judged with reasons, know how sure each figure is."""

from greval.case import Case, Chunk, Effort, Gold, Response, Sample, Traversal, Triple
