"""The Python API and its use cases."""
