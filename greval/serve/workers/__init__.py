"""Child processes for work that is not the judge's: reading uploads, parsing metric files, computing figures."""
