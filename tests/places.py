"""Where things stand: the root of the checkout, the stored files, and data that may lie beside the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "stored"
SHARED = ROOT.parent / "shared"
