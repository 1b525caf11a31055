"""The table of stages, and what runs and publishes them."""
