"""Make playbooks/sglang/env_names.json: the variables that the source of each version speaks of.

    python scripts/env_names.py VERSION=FOLDER ...

FOLDER is the package of that version (.../site-packages/sglang). Versions that are not named keep their list.
"""

import json
import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "playbooks" / "sglang" / "env_names.json"
_NAME = re.compile(r"\bSGLANG_[A-Z0-9_]*[A-Z0-9]\b")


def main(arguments: list[str]) -> None:
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    for argument in arguments:
        version, _, folder = argument.partition("=")
        found[version] = sorted(names(Path(folder)))
    rows = ",\n".join(f"{json.dumps(version)}:{json.dumps(row)}" for version, row in found.items())
    OUT.write_text("{" + rows + "}\n")


def names(package: Path) -> set[str]:
    """Return the variables that any file of the package names."""
    return {name for path in package.rglob("*.py") for name in _NAME.findall(path.read_text(errors="replace"))}


if __name__ == "__main__":
    main(sys.argv[1:])
