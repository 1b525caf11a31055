"""Acme Parcel: one tracking page for every carrier.

The package is small on purpose. Each module owns one idea:

- ``tracking``  tracking numbers and the parcel status model
- ``webhooks``  what carriers push to us, and how we survive their mistakes
- ``retry``     backoff policy and circuit breaker
- ``labels``    label rendering and the printer queue
- ``cli``       the ``acme-parcel`` command for operators
"""

__version__ = "1.0.21"

__all__ = ["__version__"]
