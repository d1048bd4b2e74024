"""Name the cause of a failed attempt from its stored log, the host's kernel log and the engine's source."""

from dataclasses import replace

from relight.attempts.clock import epoch
from relight.attempts.follow import log_of
from relight.attempts.site import Site
from relight.attempts.wishes import wishes_of
from relight.diagnosis.diagnose import Ended, diagnose
from relight.diagnosis.scan import scan
from relight.hosts.values import HostError
from relight.logs.lines import Line
from relight.logs.read import read_log
from relight.words.attempt import Attempt
from relight.words.diagnosis import Diagnosis, Want
from relight.words.knowledge import Knowledge

ROUNDS = 3
"""How often a diagnosis may ask for more source files."""


def examine(site: Site, attempt: Attempt) -> Diagnosis:
    """Diagnose `attempt`; source files the diagnosis wants are fetched from the host."""
    _fetch_rest(site, attempt)
    lines = _lines(site, attempt)
    ended = Ended(exit=attempt.exit, kernel=_kernel_log(site, attempt))
    sources: dict[str, str] = {}
    for _ in range(ROUNDS):
        found = diagnose(
            lines,
            host_knowledge(site),
            name=attempt.log,
            argv=attempt.argv,
            env=attempt.settings.env,
            ended=ended,
            sources=sources,
            wishes=wishes_of(site),
        )
        new = fetched(site, found.wants, sources)
        if not new:
            break
        sources |= new
    return found


def _fetch_rest(site: Site, attempt: Attempt) -> None:
    """Bring what the server wrote after its verdict: while it was stopped, or in all the time it was healthy."""
    if not attempt.launched:
        return
    size, path = site.host.status(site.attempt_id(attempt.n)).log_size, site.log_path(attempt.n)
    if not path.exists() or path.stat().st_size < size:
        with log_of(site, attempt.n) as log:
            log.drain(size)


def host_knowledge(site: Site) -> Knowledge:
    """Return the knowledge with the host's own parser in the place of our tables."""
    if site.parser is None:
        return site.knowledge
    return replace(site.knowledge, versions={site.version or "0": site.parser})


def _lines(site: Site, attempt: Attempt) -> tuple[Line, ...]:
    path = site.log_path(attempt.n)
    stored = tuple(scan(read_log(str(path)), site.knowledge)) if path.exists() else ()
    after = stored[-1].number if stored else 0
    return (*stored, *(Line(after + i, -1, text) for i, text in enumerate(attempt.remarks, start=1)))


def _kernel_log(site: Site, attempt: Attempt) -> tuple[str, ...]:
    offset = site.known.facts.clock_offset if site.known else 0.0
    try:
        return site.host.kernel_log(epoch(attempt.started) + offset)
    except HostError:
        # Evidence where it can be read, never a reason to fail.
        return ()


def fetched(site: Site, wants: tuple[Want, ...], have: dict[str, str]) -> dict[str, str]:
    """Return the texts of the wanted files that are not here yet and that the host has."""
    files = dict.fromkeys(w.file for w in wants if w.file not in have)
    texts = {file: _source(site, file) for file in files}
    return {file: text for file, text in texts.items() if text is not None}


def _source(site: Site, file: str) -> str | None:
    try:
        return site.host.source(file)
    except HostError:
        return None
