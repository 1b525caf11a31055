"""How long embedding will take, told before it begins. Imports nothing heavy."""

from __future__ import annotations

WINDOWS_PER_CORE_SECOND = 30
"""Windows one core embeds in a second, by ONNX Runtime on an AMD EPYC (benchmarks/embedding.py: 60 on two)."""


def estimated_seconds(windows: int, cores: int) -> float:
    """About how long so many windows take the bundled model."""
    return windows / (WINDOWS_PER_CORE_SECOND * max(1, cores))
