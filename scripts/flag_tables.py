"""Make playbooks/sglang/flags_matrix.json and env.json from full descriptions of single versions.

    python scripts/flag_tables.py FOLDER

FOLDER holds flags_matrix.json (every flag name: the versions that have it, default and choices at each change) and,
for some versions, flags_VERSION.json (every option in full) and env_VERSION.json (every variable). What the tables
ship is smaller: one row per option with all its names, one row per variable.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from relight.words.knowledge import version_key

OUT = Path(__file__).resolve().parents[1] / "playbooks" / "sglang"
ACTIONS = {
    "bool(store_true)": "store_true",
    "action:argparse.BooleanOptionalAction": "boolean_optional",
    "action:DeprecatedStoreTrueAction": "store_true",
    "action:DeprecatedStoreConstAction": "store",
    "action:DeprecatedAction": "store_true",
    "action:LoRAPathAction": "store",
}


def main(folder: Path) -> None:
    matrix = json.loads((folder / "flags_matrix.json").read_text())
    full = {
        path.stem.removeprefix("flags_"): json.loads(path.read_text())
        for path in sorted(folder.glob("flags_[0-9]*.json"))
    }
    rows = flag_rows(matrix, full)
    versions = sorted({v for row in matrix.values() for v in row["versions"]}, key=version_key)
    write("flags_matrix.json", {"versions": versions, "flags": rows})
    write("env.json", env_rows(folder))


def flag_rows(matrix: dict[str, Any], full: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return one row per name, with what the nearest full description says of its option."""
    newest_first = sorted(full, key=version_key, reverse=True)
    described = [{n: f for f in full[v] for n in [f["flag"], *f.get("aliases", [])]} for v in newest_first]
    return [flag_row(name, matrix[name], described) for name in sorted(matrix)]


def flag_row(name: str, row: dict[str, Any], described: list[dict[str, Any]]) -> dict[str, Any]:
    found = next((d[name] for d in described if name in d), None) or guessed(name, row)
    out = {
        "name": name[2:],
        "dest": found["dest"],
        "type": converter(found["type"]),
        "action": ACTIONS.get(found["type"], "store"),
        "nargs": found.get("nargs") or words(found["type"]),
        "of": None if found["flag"] == name else found["flag"][2:],
        "deprecated": row.get("deprecated_in"),
        "versions": row["versions"],
        "default": [[c["from"], c["value"]] for c in row["default"]],
        "choices": [[c["from"], c["value"]] for c in row["choices"]],
    }
    return {k: v for k, v in out.items() if v not in (None, [], [[row["versions"][0], None]])}


def guessed(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a description for a name that only versions without a full description have."""
    switch = all(isinstance(c["value"], bool) or c["value"] is None for c in row["default"])
    switch = switch and any(isinstance(c["value"], bool) for c in row["default"])
    sample = next((c["value"] for c in row["default"] if c["value"] is not None), "")
    kind = "bool(store_true)" if switch or name.startswith("--enable-") else type(sample).__name__
    return {"flag": name, "dest": name[2:].replace("-", "_"), "type": kind}


def words(source: str) -> str | None:
    """Return how many words an option takes whose description does not say so: lists take one or more."""
    if source == "action:LoRAPathAction":
        return "*"
    return "+" if "List[" in source and "json" not in source else None


def converter(source: str) -> str:
    """Return the plain name of a converter: "Optional[int] via human_readable_int" -> "int"."""
    if source in ACTIONS:
        return "bool" if "rue" in source or "Boolean" in source else "str"
    via = source.rpartition(" via ")[2] if " via " in source else ""
    if "json" in via or source in {"json.loads", "json_list_type"}:
        return "json"
    found = re.search(r"\b(int|float|str)\b", source)
    return found.group(1) if found else "str"


def env_rows(folder: Path) -> dict[str, Any]:
    """Return NAME -> {"type", "default": {version: default}} over all described versions."""
    rows: dict[str, Any] = {}
    for path in sorted(folder.glob("env_[0-9]*.json"), key=lambda p: version_key(p.stem.removeprefix("env_"))):
        version = path.stem.removeprefix("env_")
        for name, entry in json.loads(path.read_text()).items():
            row = rows.setdefault(name, {"type": entry["type"].removeprefix("Env").lower(), "default": {}})
            row["default"][version] = entry["default"]
    return dict(sorted(rows.items()))


def write(name: str, value: Any) -> None:
    """Write one row per line, so that a change of one flag is a change of one line."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = text.replace('},{"name"', '},\n{"name"').replace('}},"', '}},\n"').replace("[{", "[\n{")
    (OUT / name).write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
