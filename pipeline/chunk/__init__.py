"""Documents to chunks, windows and terms."""
