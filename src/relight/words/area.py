"""An area of the engine as data: how a failure names it, and what steers it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from relight.words.signature import Remedy


@dataclass(frozen=True)
class Area:
    """What one part of the engine does, told by its traces in a log and by its flags.

    It runs only where one of the flags `on` has a value that is not in `off`; without `on`, where `words` occur in
    the log. `layer`: the kind of layer it computes; `carrier`: it runs layers, and is not at fault where one of
    them is. `suspect`: it is left away first where no place is known. `excludes`: areas that are not at fault where
    frames show this one and not them. `parts`: areas that say more precisely what of it failed. `variables` steer it
    like `flags`. `odds`: by kind of failure (a name may end in *; the first that fits counts), how much likelier it is
    to blame than what nothing is known of.
    """

    name: str
    flags: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    layer: str = ""
    carrier: bool = False
    suspect: bool = False
    parts: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    odds: Mapping[str, float] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True)
class Areas:
    """All areas, the more telling first, and the kinds of failure (a name may end in *) that they may cure.

    For `refused` kinds, and messages that one of the regexes `refusals` fits, an area is switched off, not given other
    kernels; for `bare` kinds only what can be switched off is. `late` kinds show after the kernel that failed, so the
    place is a hint only; for `blind` kinds what is suspect may be left away without a word about it. `asynchronous` are
    regexes of messages that the next call reports, whichever that is, `on_device` of what the failing kernel prints.
    For `compiled` kinds a line that one of `compilers` fits says why.
    """

    all: tuple[Area, ...] = ()
    kinds: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    blind: tuple[str, ...] = ()
    asynchronous: tuple[str, ...] = ()
    on_device: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
