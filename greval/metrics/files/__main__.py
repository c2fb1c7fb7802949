"""Print the JSON schema of metric files: `python -m greval.metrics.files > metric_library/metric.schema.json`."""

from __future__ import annotations

import json
import sys

from greval.metrics.files.json_schema import build_file_schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(build_file_schema(), indent=2, ensure_ascii=False) + "\n")
