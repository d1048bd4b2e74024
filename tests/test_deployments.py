"""The shipped deployments against the parsers of the versions they say they are for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from relight.config import shipped
from relight.config.flag_tables import load_versions
from relight.config.playbook import load_playbook
from relight.planning.settings import unfit
from relight.words.parser import HostParser, ParserFlag
from relight.words.playbook import Lever, Playbook, Variant
from relight.words.settings import FlagValue

DEPLOYMENTS: Mapping[str, tuple[str, ...]] = {
    "qwen3.5-397b-nvfp4": ("0.5.9", "0.5.12.post1", "0.5.16", "0.5.20", "0.5.23"),
    "qwen3-next-80b-fp8": ("0.5.9", "0.5.12.post1", "0.5.16", "0.5.20", "0.5.23"),
    "glm-5.2-nvfp4": ("0.5.16", "0.5.20", "0.5.23"),
}
CASES = [(name, version) for name, versions in DEPLOYMENTS.items() for version in versions]
Parsers: TypeAlias = Mapping[str, HostParser]
CONVERTERS = {"int": int, "float": float}


@pytest.fixture(scope="module")
def versions() -> Parsers:
    return load_versions(shipped.engine())


def deployment(name: str) -> Playbook:
    return load_playbook(shipped.folder() / f"{name}.toml")


def fit(lever: Lever, parser: HostParser, version: str) -> Iterator[Variant]:
    yield from (v for v in lever.variants if not unfit(v, parser, version))


def fault(name: str, value: FlagValue, parser: HostParser) -> str:
    """Return what the parser would say against one flag, "" when it takes it."""
    flag = parser.find(name)
    if flag is None:
        return f"--{name} is not known"
    return _value_fault(flag, value)


def _value_fault(flag: ParserFlag, value: FlagValue) -> str:
    if isinstance(value, bool):
        return "" if not flag.takes_value else f"--{flag.name} wants a value"
    if flag.choices and str(value) not in flag.choices:
        return f"--{flag.name} takes {flag.choices}, not {value}"
    convert = CONVERTERS.get(flag.type)
    try:
        return "" if convert is None or convert(str(value)) is not None else "no value"
    except ValueError:
        return f"--{flag.name} wants {flag.type}, not {value}"


@pytest.mark.parametrize(("name", "version"), CASES)
def test_every_flag_of_every_fit_variant_is_one_the_version_takes(name: str, version: str, versions: Parsers) -> None:
    parser, playbook = versions[version], deployment(name)

    faults = [fault(flag, value, parser) for flag, value in playbook.flags.items()]
    for lever in playbook.levers:
        for variant in fit(lever, parser, version):
            faults += [fault(flag, value, parser) for flag, value in variant.flags.items()]

    assert [f for f in faults if f] == []


@pytest.mark.parametrize(("name", "version"), CASES)
def test_every_lever_has_a_variant_that_is_more_than_off(name: str, version: str, versions: Parsers) -> None:
    parser = versions[version]

    bare = [x.name for x in deployment(name).levers if all(v.off for v in fit(x, parser, version))]

    assert bare == []


@pytest.mark.parametrize(("name", "version"), CASES)
def test_speculation_gives_its_three_numbers_together(name: str, version: str, versions: Parsers) -> None:
    lever = next(x for x in deployment(name).levers if x.name == "speculation")

    for variant in fit(lever, versions[version], version):
        steps = variant.flags.get("speculative-num-steps")
        tokens = variant.flags.get("speculative-num-draft-tokens")
        assert variant.off or (isinstance(steps, int) and tokens == steps + 1)


@pytest.mark.parametrize(("name", "version"), CASES)
def test_the_switch_of_spec_v2_is_given_only_where_it_exists(name: str, version: str, versions: Parsers) -> None:
    lever = next(x for x in deployment(name).levers if x.name == "speculation")
    first = next(fit(lever, versions[version], version))
    opt_in = version in {"0.5.9", "0.5.12.post1"} and first.flags["speculative-algorithm"] == "NEXTN"

    assert ("SGLANG_ENABLE_SPEC_V2" in first.env) == opt_in


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_no_variant_names_a_kernel_made_for_other_cards(name: str) -> None:
    foreign = {"trtllm_mha", "trtllm_mla", "fa3", "fa4", "flashmla", "cutlass_mla", "flashinfer_trtllm", "deep_gemm"}
    values = {str(v) for lever in deployment(name).levers for x in lever.variants for v in x.flags.values()}

    assert not values & foreign


def test_every_shipped_deployment_is_checked_here() -> None:
    found = {path.stem for path in Path(shipped.folder()).glob("*.toml")}

    assert found - {"demo"} == set(DEPLOYMENTS)
