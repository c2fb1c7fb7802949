"""What a run found: comparison, diagnosis, checks of gold, and a summary."""

import lazy_loader

# Public names that are not in `greval` itself load when they are used. The stub beside this file is their table.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
