"""The HTTP door: not built yet. Use the Python SDK or the command line."""

import sys

if __name__ == "__main__":
    sys.exit("greval has no HTTP server yet: use the command line (greval --help) or the Python SDK (docs/sdk.md).")
