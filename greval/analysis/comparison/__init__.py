"""Statistical comparison of methods: paired by question, corrected for multiple tests, with detectable differences."""
