# The public names of the server: editors read them here, and `lazy_loader` loads them by this table.

from .app import create_app
from .settings import ServerLimits, ServerSettings
from .start import run_server

__all__ = [
    "ServerLimits",
    "ServerSettings",
    "create_app",
    "run_server",
]
