"""Everything that is known about an engine, loaded once."""

from collections.abc import Sequence
from pathlib import Path

from relight.config import shipped
from relight.config.areas import load_areas
from relight.config.facts import flag_facts, load_renames
from relight.config.flag_tables import load_env, load_env_names, load_versions
from relight.config.memory import load_memory
from relight.config.phases import load_phases
from relight.config.platforms import load_cards, load_platforms
from relight.config.regexes import Regexes, remember, remembered
from relight.config.signatures import load_signatures
from relight.config.switches import with_switches
from relight.words.errors import UsageError
from relight.words.knowledge import Knowledge
from relight.words.signature import Signature


def load_knowledge(extra: Sequence[Path] = (), *, engine: str = "sglang") -> Knowledge:
    """Load what ships with relight, and signatures from the folders `extra`, for `engine`.

    UsageError names the file and line of whatever is wrong, and the two files that use one id.
    """
    folder = shipped.engine(engine)
    versions, known, facts = load_versions(folder), remembered(), flag_facts(engine)
    knowledge = Knowledge(
        signatures=_signatures((folder / "signatures", *extra), known),
        areas=with_switches(load_areas(folder / "areas.toml", known), versions.values(), facts),
        phases=load_phases(folder / "phases.toml"),
        renames=load_renames(folder, versions),
        facts=facts,
        versions=versions,
        env=load_env(folder),
        env_names=load_env_names(folder),
        platforms=load_platforms(folder / "platforms.toml", known),
        cards=load_cards(folder / "cards.toml", known),
        memory=load_memory(folder / "memory.toml", facts),
    )
    remember(known)
    return knowledge


def _signatures(folders: Sequence[Path], known: Regexes) -> tuple[Signature, ...]:
    found: dict[str, Signature] = {}
    for folder in folders:
        for signature in load_signatures(folder, known):
            other = found.setdefault(signature.id, signature)
            if other is not signature:
                text = f"the id '{signature.id}' is taken by {other.path}"
                raise UsageError(text, place=signature.path, next="rename the file")
    return tuple(found.values())
