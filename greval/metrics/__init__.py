"""Where metrics come from: computed families, files, the library, and rankings over arrays."""
