"""Conditions and guards out of small source texts."""

from collections.abc import Callable

import pytest

from relight.diagnosis.source.explain import constraint
from relight.diagnosis.source.read import Reading
from relight.diagnosis.source.solve import repairs
from relight.diagnosis.source.values import Values
from relight.words.diagnosis import Constraint
from relight.words.parser import HostParser

Read = Callable[..., Reading]


def explained(reading: Reading, flags: HostParser, env: dict[str, str] | None = None, **given: object) -> Constraint:
    named = {k.replace("_", "-"): v for k, v in given.items()}
    return constraint(reading, Values(named, env or {}), flags)  # type: ignore[arg-type]


def test_an_assertion_over_several_lines_is_read_whole_whichever_line_was_printed(
    read: Read, flags: HostParser
) -> None:
    rows = ["class A:", "    def check(self):", "        assert (", "            self.tp_size == 1",
            "            and self.nnodes == 1", "        ), 'one only'"]  # fmt: skip
    seen = set()
    for n in (2, 3, 4):
        marked = [*rows]
        marked[n] += "  # here"
        seen.add(explained(read("\n".join(marked)), flags).condition)

    assert seen == {"--tp-size is 1 and --nnodes is 1"}


def test_a_raise_is_read_as_the_opposite_of_the_test_around_it(read: Read, flags: HostParser) -> None:
    reading = read(
        "def f(cfg):\n  if cfg.policy:\n    if cfg.chunk % cfg.page_size != 0:\n      raise ValueError('x')  # here"
    )

    found = explained(reading, flags)

    assert found.condition == "--chunk is a multiple of --page-size"
    assert found.guards == ("--policy is on",)
    assert found.flags == ("chunk", "page-size", "policy")


def test_in_an_elif_chain_the_earlier_tests_are_guards(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    if self.backend == "triton":
        return
    elif self.kv_dtype == "fp8":
        pass
    elif self.tp_size > 4:
        raise ValueError("no")  # here
"""
    found = explained(read(text), flags)

    assert found.condition == "--tp-size is at most 4"
    assert found.guards == ("--backend is not 'triton'", "--kv-dtype is not 'fp8'")


def test_an_else_after_several_tests_needs_one_of_them(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    if self.backend == "triton":
        pass
    elif self.backend == "flash":
        pass
    else:
        raise ValueError("no")  # here
"""
    found = explained(read(text), flags)

    assert found.condition == "--backend is 'triton' or --backend is 'flash'"
    assert found.guards == ()


def test_an_early_return_guards_what_comes_after_it(read: Read, flags: HostParser) -> None:
    found = explained(read("def f(self):\n  if not self.mixed:\n    return\n  assert self.tp_size == 1  # here"), flags)

    assert found.guards == ("--mixed is on",)


def test_a_raise_after_an_early_return_asks_for_the_return(read: Read, flags: HostParser) -> None:
    found = explained(
        read("def f(self):\n  if self.mixed:\n    return\n  raise ValueError('mixed only')  # here"), flags
    )

    assert found.condition == "--mixed is on"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1 <= cfg.tp_size <= 8", "1 is at most --tp-size and --tp-size is at most 8"),
        ("cfg.backend in ALLOWED", "--backend is one of 'triton', 'flash'"),
        ("cfg.backend is None", "--backend is not given"),
        ("not cfg.mixed", "--mixed is off"),
        ("cfg.policy.startswith('l')", "--policy.startswith('l')"),
        ("len(cfg.lora or []) <= 2", "len((--lora is on or )) is at most 2"),
        ("all(v is None for v in (cfg.tp_size, cfg.nnodes))", "--tp-size is not given and --nnodes is not given"),
        ("isinstance(cfg.policy, str)", "isinstance(--policy, ('str',))"),
        ("envs.FAST.get() or cfg.mixed", "FAST is on or --mixed is on"),
        ("os.environ.get('FAST') == '1'", "FAST is '1'"),
        ("get_bool_env_var('FAST')", "FAST is on"),
        ("uses_cache(cfg)", "--disable-cache is off"),
        ("width == 2", "(--tp-size * 2) is 2"),
        ("getattr(cfg, 'tp_size', 1) == 1", "--tp-size is 1"),
        ("Kind(cfg.backend).is_flash()", "--backend is 'flash'"),
        ("resolved_view(server_args).tp_size == 1", "--tp-size is 1"),
    ],
)
def test_an_expression_is_said_in_plain_words(expression: str, said: str, read: Read, flags: HostParser) -> None:
    text = f"""
ALLOWED = ["triton", "flash"]
class Kind(Enum):
    FLASH = "flash"
    def is_flash(self):
        return self == Kind.FLASH
def uses_cache(view):
    return not view.disable_cache
def f(server_args):
    cfg = view_of(server_args)
    width = cfg.tp_size * 2
    assert {expression}  # here
"""
    found = explained(read(text), flags)

    assert found.condition == said
    assert found.opaque == ()


def test_what_cannot_be_read_is_said_to_be_opaque(read: Read, flags: HostParser) -> None:
    found = explained(read("def f(cfg):\n  assert has_card(7) or cfg.mixed  # here"), flags)

    assert found.opaque == ("has_card(7)",)
    assert found.flags == ("mixed",)


def test_a_field_that_was_rewritten_before_the_check_is_evaluated_as_rewritten(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    if self.algorithm == "NEXTN":
        self.algorithm = "EAGLE"
    if self.algorithm == "EAGLE":
        assert self.draft_steps is not None  # here
"""
    found = explained(read(text), flags, algorithm="NEXTN")

    assert found.operand == "--draft-steps is given"
    assert found.values["algorithm"] == "NEXTN"


def test_a_write_that_a_call_declares_counts_as_one(read: Read, flags: HostParser) -> None:
    text = """
def f(server_args):
    declare(server_args, "f", page_size=64)
    assert server_args.page_size == 1  # here
"""
    found = explained(read(text), flags, page_size="1")

    assert found.operand == "--page-size is 1"


def test_a_loop_over_a_constant_list_means_every_item(read: Read, flags: HostParser) -> None:
    text = """
def f(self):
    for name, value in (("a", self.tp_size), ("b", self.nnodes)):
        if value < 1:
            raise ValueError(name)  # here
"""
    found = explained(read(text), flags, tp_size="0")

    assert found.condition == "--tp-size is at least 1 and --nnodes is at least 1"
    assert found.operand == "--tp-size is at least 1"


def test_the_caller_gives_a_function_its_arguments(read: Read, flags: HostParser) -> None:
    text = """
class A:
    def check(self):
        if self.mixed:
            self.positive("chunk", self.chunk)
    def positive(self, name, value):
        assert value > 0, name  # here
"""
    found = explained(read(text), flags, chunk="-1", mixed=True)

    assert found.condition == "--chunk is more than 0"
    assert found.guards == ("--mixed is on",)


def test_frames_of_the_traceback_lead_through_another_file(read: Read, flags: HostParser) -> None:
    caller = "from pkg.server_args import need\ndef go(server_args):\n  need(server_args.tp_size)\n"

    reading = read(
        "def need(size):\n  assert size == 1  # here",
        others={"/engine/pkg/go.py": caller},
        callers=[("/engine/pkg/go.py", 3)],
    )

    assert explained(reading, flags).condition == "--tp-size is 1"


def test_a_constant_of_another_file_is_wanted_and_then_read(read: Read, flags: HostParser) -> None:
    text = "from pkg.choices import OK\ndef f(cfg):\n  assert cfg.backend in OK  # here"

    first = read(text)
    second = read(text, others={first.wants[0]: "OK = ('triton',)"})

    assert first.wants == ("/engine/pkg/choices.py",)
    assert explained(second, flags).condition == "--backend is one of 'triton'"


def test_a_type_error_names_the_operand_that_was_none(read: Read, flags: HostParser) -> None:
    reading = read(
        "def f(self):\n  if self.mixed and self.draft_topk > 1:  # here\n    pass",
        type="TypeError", message="'>' not supported between instances of 'NoneType' and 'int'",
    )  # fmt: skip

    found = explained(reading, flags, mixed=True)

    assert reading.kind == "type"
    assert found.condition == "--draft-topk is given"
    assert found.guards == ("--mixed is on",)


def test_values_say_where_they_come_from(read: Read, flags: HostParser) -> None:
    reading = read(
        "def f(cfg):\n  assert cfg.tp_size == cfg.nnodes and envs.FAST.get(), f'got {cfg.x} and {cfg.nnodes}!'  # here",
        message="got 7 and 2!",
    )

    found = explained(reading, flags, env={"FAST": "1"}, tp="4")

    assert found.values == {"tp": 4, "nnodes": 2, "FAST": True}
    assert found.origins == {"tp": "command line", "nnodes": "the message says so", "FAST": "environment"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n  pass # here", "not valid Python"),
        ("x = 1  # here", "holds no check"),
        ("\0 # here", "not valid Python"),
        ("def f(self):\n  assert self.a  # here\n" + "(" * 500, "not valid Python"),
        ("def f(self):\n  assert " + "not " * 60000 + "self.a  # here", "nested too deeply"),
        ("def f(self):\n  assert " + "self.a + " * 60000 + "1  # here", "nested too deeply"),
    ],
    ids=["syntax", "no check", "zero byte", "parentheses", "nots", "sums"],
)
def test_a_broken_source_gives_a_reason_and_no_error(text: str, why: str, read: Read, flags: HostParser) -> None:
    reading = read(text)

    assert why in reading.why
    assert not reading.readable
    assert explained(reading, flags).condition == reading.why


def test_a_file_that_changed_since_the_crash_is_noticed(read: Read) -> None:
    assert "no check that gives ValueError" in read("def f(a):\n  assert a.x  # here", type="ValueError").why
    assert "may have changed" in read("x = 1\n# here").why


def test_a_hundred_thousand_lines_are_read_in_bounds(read: Read, flags: HostParser) -> None:
    text = "def a(self):\n  assert self.tp_size == 1  # here\n" + "x = 1\n" * 100_000

    assert explained(read(text), flags).condition == "--tp-size is 1"


def test_endless_recursion_in_the_source_ends(read: Read) -> None:
    reading = read("def f(cfg):\n  return f(cfg)\ndef g(cfg):\n  assert f(cfg)  # here")

    assert reading.readable


def test_sets_are_compared_as_sets_and_what_is_taken_out_of_them_is_gone(read: Read, flags: HostParser) -> None:
    text = """
def check(self):
    used = {self.backend, self.kv_dtype}
    used.discard("auto")
    allowed = {"triton", "fa3"} if probe() else {"triton", "torch"}
    assert used <= allowed  # here
"""
    reading = read(text)
    found = constraint(reading, Values({"backend": "flash"}), flags)

    assert found.condition == "--backend, --kv-dtype are all among ('triton', 'fa3' or 'triton', 'torch')"
    assert repairs(reading, Values({"backend": "flash"}), flags)[0].set == {"backend": "triton"}


def test_a_name_passed_on_by_another_module_is_followed(read: Read, flags: HostParser) -> None:
    text = """
from pkg.front import backends_of
def check(self):
    prefill, decode = backends_of(self)
    assert decode != "flash"  # here
"""
    others = {
        "/engine/pkg/front.py": "from pkg.back import backends_of\n",
        "/engine/pkg/back.py": "def backends_of(cfg):\n    return cfg.policy, cfg.backend\n",
    }
    assert constraint(read(text, others=others), Values(), flags).condition == "--backend is not 'flash'"


@pytest.mark.parametrize(
    ("type_", "message", "line", "condition"),
    [
        ("ZeroDivisionError", "integer modulo by zero", "x = self.chunk % self.nnodes", "--nnodes is not 0"),
        ("KeyError", "'lof'", "x = {'lpm': 1, 'fcfs': 2}[self.policy]", "--policy is in {'lpm': 1, 'fcfs': 2}"),
    ],
)
def test_an_operation_that_failed_says_what_it_needed(
    read: Read, flags: HostParser, type_: str, message: str, line: str, condition: str
) -> None:
    reading = read(f"def check(self):\n    {line}  # here\n", type=type_, message=message)

    assert constraint(reading, Values({"nnodes": "0", "policy": "lof"}), flags).condition == condition


def test_other_checks_that_were_passed_are_no_guards(read: Read, flags: HostParser) -> None:
    text = """
def check(self):
    if self.chunk < 0:
        raise ValueError("chunk")
    if self.nnodes < 1:
        raise ValueError("nodes")
    assert self.tp_size % self.nnodes == 0  # here
"""
    assert explained(read(text), flags, nnodes=2).guards == ("--nnodes is at least 1",)
