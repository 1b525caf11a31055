"""How it is run: the Dagster shell around the pipeline. Only this package imports dagster."""
