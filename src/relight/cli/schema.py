"""`relight schema`: the JSON Schema of every document and file."""

from collections.abc import Callable
from typing import Any

import click

from relight.cli import complete
from relight.cli.options import Common, common, examples
from relight.cli.output import document, say
from relight.words.errors import UsageError
from relight.words.near import meant


@click.command(epilog=examples("relight schema", "relight schema playbook > playbook.schema.json"))
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete.schemas)
@common()
def schema(shared: Common, *, name: str | None) -> int:
    """Print the JSON Schema of a document (record, diagnosis, ...) or file (hosts, playbook, signature).

    Without NAME the names are listed. Editors complete a TOML file whose schema they know.
    """
    if name is None:
        if shared.json:
            document(sorted(SCHEMAS))
        else:
            say("\n".join(sorted(SCHEMAS)))
        return 0
    document(schema_of(name))
    return 0


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema called `name`. UsageError lists the names there are."""
    if name not in SCHEMAS:
        known = ", ".join(sorted(SCHEMAS))
        raise UsageError(f"no schema '{name}'; known: {known}", place="relight schema", next=meant(name, SCHEMAS))
    made = SCHEMAS[name]()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"relight {name}"} | made


def _record() -> dict[str, Any]:
    from relight.journal.codec import json_schema  # noqa: PLC0415  imports pydantic
    from relight.words.attempt import Record  # noqa: PLC0415

    return _required(json_schema(Record), "schema", "run", "folder", "playbook", "host", "hosts", "engine", "state",
                     "started", "ended", "attempts", "nogoods", "options", "final")  # fmt: skip


def _runs() -> dict[str, Any]:
    record = _record()
    definitions = record.pop("$defs", {})
    record["properties"] = {k: v for k, v in record["properties"].items() if k != "attempts"}
    record["required"] = [name for name in record["required"] if name != "attempts"]
    return {"type": "array", "items": record, "$defs": definitions}


def _diagnosis() -> dict[str, Any]:
    from relight.journal.codec import json_schema  # noqa: PLC0415  imports pydantic
    from relight.words.diagnosis import Diagnosis  # noqa: PLC0415

    one = _required(json_schema(Diagnosis), "log", "verdict", "engine", "cause", "traceback", "constraint", "cascade",
                    "repairs", "action")  # fmt: skip
    definitions = one.pop("$defs", {})
    return {"type": "array", "items": one, "$defs": definitions}


def _required(schema: dict[str, Any], *names: str) -> dict[str, Any]:
    return schema | {"required": list(names)}


def _table(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}


def _check() -> dict[str, Any]:
    severity = {"type": "string", "enum": ["error", "warning", "note"]}
    finding = _table(severity=severity, place=_TEXT, text=_TEXT, next=_TEXT)
    return _table(ok={"type": "boolean"}, findings={"type": "array", "items": finding})


def _plan() -> dict[str, Any]:
    step = _table(step=_TEXT, because=_TEXT) | {"additionalProperties": True}
    return _table(plan={"type": "array", "items": step})


def _error() -> dict[str, Any]:
    status = {"type": "integer", "enum": [2, 3, 70]}
    return _table(error=_table(status=status, place=_TEXT, text=_TEXT, next=_TEXT))


def _event() -> dict[str, Any]:
    from relight.journal.codec import json_schema  # noqa: PLC0415  imports pydantic
    from relight.words.events import Event  # noqa: PLC0415

    made = json_schema(Event)
    properties = {name: value for name, value in made["properties"].items() if name != "data"}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": True}


def _hosts() -> dict[str, Any]:
    from relight.config.hosts import HOSTS_KEYS  # noqa: PLC0415  only what is asked for
    from relight.config.keys import json_schema  # noqa: PLC0415

    return json_schema(HOSTS_KEYS)


def _playbook() -> dict[str, Any]:
    from relight.config.keys import json_schema  # noqa: PLC0415  only what is asked for
    from relight.config.playbook import PLAYBOOK_KEYS, VARIANT_KEYS  # noqa: PLC0415

    made = json_schema(PLAYBOOK_KEYS)
    variant = {"anyOf": [json_schema(VARIANT_KEYS), {"const": "off"}]}
    lever = made["properties"]["lever"]["items"]["properties"]
    lever["variants"] = {"description": lever["variants"]["description"], "type": "array", "items": variant}
    return made


def _signature() -> dict[str, Any]:
    from relight.cli.signature_schema import signature_schema  # noqa: PLC0415  only what is asked for

    return signature_schema()


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "record": _record,
    "runs": _runs,
    "diagnosis": _diagnosis,
    "check": _check,
    "plan": _plan,
    "error": _error,
    "event": _event,
    "hosts": _hosts,
    "playbook": _playbook,
    "signature": _signature,
}
