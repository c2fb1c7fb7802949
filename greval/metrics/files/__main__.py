"""Print the JSON schema of metric files: `python -m greval.metrics.files > metric_library/metric.schema.json`."""

from __future__ import annotations

import sys

from greval.metrics.files.json_schema import write_file_schema

if __name__ == "__main__":
    sys.stdout.write(write_file_schema())
