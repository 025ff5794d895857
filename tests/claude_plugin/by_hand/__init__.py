"""Sessions that people run by hand."""
