"""Settings put together from a playbook, in the order the contract gives (CONTRACT.md section 3)."""

from collections.abc import Iterable, Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from relight.planning.names import Names, names_of
from relight.words.attempt import LeverState
from relight.words.knowledge import Rename
from relight.words.parser import HostParser
from relight.words.playbook import Lever, Playbook, Variant
from relight.words.settings import Change, FlagValue, Settings

OFF = Variant(off=True)


def put_together(
    playbook: Playbook,
    choice: Mapping[str, int | None],
    repairs: Iterable[Change] = (),
    overrides: Change | None = None,
    host_env: Mapping[str, str] | None = None,
    parser: HostParser | None = None,
    version: str | None = None,
) -> Settings:
    """Return the settings of one launch; later layers win, an unfit variant counts as off.

    The layers: the host's env, the playbook's flags and env, the chosen variant of each lever in file order,
    repairs, overrides. `choice` maps a lever to its variant's position from 1, None for off.
    """
    names = names_of(playbook, parser)
    chosen = [variant_at(lever, choice.get(lever.name)) for lever in playbook.levers]
    fit = [variant for variant in chosen if not unfit(variant, parser, version)]
    return layered(playbook, fit, [*repairs, overrides or Change()], host_env or {}, names)


def layered(
    playbook: Playbook,
    variants: Iterable[Variant],
    changes: Iterable[Change],
    host_env: Mapping[str, str],
    names: Names,
) -> Settings:
    """Return the layers laid over each other, every flag under one spelling."""
    flags: dict[str, FlagValue] = {names.spell(n): v for n, v in playbook.flags.items()}
    env = {**host_env, **playbook.env}
    for variant in variants:
        flags.update({names.spell(n): v for n, v in variant.flags.items()})
        env.update(variant.env)
    for change in changes:
        _apply(flags, env, change, names)
    return Settings(flags, env)


def _apply(flags: dict[str, FlagValue], env: dict[str, str], change: Change, names: Names) -> None:
    for name in change.unset:
        flags.pop(names.spell(name), None)
    for name in change.unset_env:
        env.pop(name, None)
    flags.update({names.spell(n): v for n, v in change.set.items()})
    env.update(change.set_env)


def variant_at(lever: Lever, position: int | None) -> Variant:
    """Return the variant at `position` (from 1); None is off."""
    return OFF if position is None else lever.variants[position - 1]


def unfit(variant: Variant, parser: HostParser | None, version: str | None) -> str:
    """Return why this engine cannot have the variant, "" if it can.

    `needs` decides where the parser can be asked; `versions` counts only where the version is a release.
    """
    if variant.needs and parser is not None:
        missing = [name for name in variant.needs if parser.resolve(name) is None]
        return f"needs --{missing[0]}" if missing else ""
    if variant.versions and not version_fits(variant.versions, version):
        return f"needs version {variant.versions}"
    return ""


def version_fits(wanted: str, version: str | None) -> bool:
    """Say whether `version` is in the range `wanted`; what is no release fits every range."""
    try:
        found = Version(version or "")
        spec = SpecifierSet(wanted)
    except (InvalidVersion, InvalidSpecifier):
        return True
    return found.is_prerelease or found.local is not None or found in spec


def lever_states(
    playbook: Playbook,
    choice: Mapping[str, int | None],
    settings: Settings,
    parser: HostParser | None = None,
    renames: Iterable[Rename] = (),
) -> tuple[LeverState, ...]:
    """Return what became of each lever under `settings`."""
    names = names_of(playbook, parser, renames)
    return tuple(lever_state(lever, choice.get(lever.name), settings, names) for lever in playbook.levers)


def lever_state(lever: Lever, position: int | None, settings: Settings, names: Names) -> LeverState:
    """Return the state of one lever: kept while the first flag its variant names keeps its value."""
    requested = None if lever.variants[0].off else 1
    variant = variant_at(lever, position)
    if variant.off or not keeps(variant, settings, names):
        return LeverState(lever.name, requested, None)
    return LeverState(lever.name, requested, position, _changed(variant, settings, names))


def keeps(variant: Variant, settings: Settings, names: Names) -> bool:
    """Say whether `settings` still hold the first thing the variant names: a flag, or a variable if it has none."""
    first = variant.first_flag
    if first is not None:
        under = [{first: variant.flags[first]}, *names.renamed(first, variant.flags[first])]
        return any(all(_holds(n, v, settings, names) for n, v in flags.items()) for flags in under)
    return all(settings.env.get(n) == v for n, v in list(variant.env.items())[:1])


def _holds(name: str, value: FlagValue, settings: Settings, names: Names) -> bool:
    spelled = names.spell(name)
    if spelled not in settings.flags:
        return value is False
    return names.value(name, settings.flags[spelled]) == names.value(name, value)


def _changed(variant: Variant, settings: Settings, names: Names) -> tuple[str, ...]:
    flags = [n for n, v in variant.flags.items() if not _holds(n, v, settings, names)]
    return (*flags, *(n for n, v in variant.env.items() if settings.env.get(n) != v))
