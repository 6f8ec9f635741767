"""What axe-core found on a page, as lines."""

from __future__ import annotations

from typing import Any


def axe_lines(page: str, told: dict[str, Any]) -> list[str]:
    """A line for each of its violations, two places of each at most."""
    return [
        f"{page}: {one['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for one in told["violations"] for node in one["nodes"][:2]
    ]  # fmt: skip
