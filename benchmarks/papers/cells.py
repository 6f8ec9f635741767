"""The finished cells of an experiment, a JSON line each: what makes a killed script go on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Runs:
    """The finished cells, a JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:  # the line that was being written when the script was killed
                    continue
                self.found[row["key"]] = row["value"]

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            begin = time.perf_counter()
            self.found[key] = json.loads(json.dumps(make()))
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"key": key, "value": self.found[key]}) + "\n")
            print(f"  {key}: {time.perf_counter() - begin:.0f} s", flush=True)
        return self.found[key]
