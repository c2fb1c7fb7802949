"""What worker processes need, imported once by the process that they are forked from."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from importlib import import_module

from greval._util.concurrency import GC_THRESHOLD
from greval.serve.workers.child import list_secrets

MODULES = (
    "greval.metrics.files.validation",
    "greval.serve.app",
    "pyarrow.parquet",
    "scipy.stats",
)
"""The modules of the tasks, and packages that these import when they are used. A further one is imported late."""

# a worker computes in one thread: threads would take memory, and CPU time from other tenants
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
# Others reserve more address space than a worker may have.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
# Also if this process was started anew, by a server that has them. Before the client of Prometheus is imported.
for variable in list_secrets():
    del os.environ[variable]
for module in MODULES:
    # An optional package.
    with suppress(ImportError):
        import_module(module)
gc.collect()
# A collection in a worker does not go through what all of them share.
gc.freeze()
# A worker makes many objects without cycles, and ends after its task.
gc.set_threshold(GC_THRESHOLD)
