"""The HTTP door: `python server.py` is `greval serve`, and takes the same options.

`uvicorn server:app --factory` serves the settings of GREVAL_SERVE_SETTINGS (JSON of `greval.serve.ServerSettings`).
"""

from __future__ import annotations

import sys

from greval.serve.start import app

__all__ = ["app"]

if __name__ == "__main__":
    from greval.cli import main

    sys.argv.insert(1, "serve")
    main()
