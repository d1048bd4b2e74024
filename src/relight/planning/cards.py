"""What is known of the host's cards before anything failed on them."""

import re
from collections.abc import Iterator

from relight.planning.ground import Ground
from relight.words.attempt import Term
from relight.words.platform import Card


def lacking(ground: Ground) -> Iterator[tuple[Term, str]]:
    """Yield conditions under which the host's cards have no kernels, and why; not for what the playbook asks for."""
    asked = ground.view(ground.start).flags if ground.start else {}
    for card in filter(lambda card: _fits(card, ground), ground.world.knowledge.cards):
        for flag, values in card.lacks.items():
            first = ground.names.canonical(flag)
            lacks = tuple(v for v in (ground.names.value(flag, v) for v in values) if v != asked.get(first))
            if ground.names.has(flag) and lacks:
                yield Term(first, "=", lacks), f"known of cards of the kind {card.name}"


def _fits(card: Card, ground: Ground) -> bool:
    """Say whether all cards are of a kind."""
    names = ground.world.gpu_names
    return bool(names) and all(any(re.search(word, name) for word in card.words) for name in names)
