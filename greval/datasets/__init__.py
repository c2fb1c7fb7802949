"""Read cases from files: an invalid row is reported with its place and never stops the others."""

import lazy_loader

# A command that only reads a run needs the identity of a file, but no reader of files.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
