"""The stand-in engine when nothing goes wrong, and its cards."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import READY, Start

WORKS = ("--attention-backend", "triton", "--quantization", "modelopt_fp4")
SPECULATION = ("--speculative-algorithm", "NEXTN", "--mamba-scheduler-strategy", "extra_buffer")
QUESTION = {"text": "The capital of France is", "sampling_params": {"temperature": 0, "max_new_tokens": 8}}


def test_a_server_comes_up_and_answers_with_sense(start: Start) -> None:
    server = start("story", *WORKS)

    log = server.read_until(READY)

    assert log.startswith("relight lab: a stand-in for SGLang 0.5.9")
    assert server.ask("/health")[0] == 200
    assert "Paris" in server.ask("/generate", QUESTION)[1]["text"]
    assert server.ask("/v1/models")[1]["data"][0]["max_model_len"] == 262144
    assert server.ask("/server_info")[1]["attention_backend"] == "triton"


def test_speculation_keeps_on_with_its_own_settings(start: Start) -> None:
    server = start("story", *WORKS, *SPECULATION, env={"SGLANG_ENABLE_SPEC_V2": "1"})

    log = server.read_until(READY)

    assert "Spec v2 is enabled for eagle/eagle3 speculative decoding" in log
    assert "type=Qwen3_5ForCausalLMMTP" in log
    assert server.ask("/server_info")[1]["internal_states"][0]["avg_spec_accept_length"] > 1


def test_the_old_worker_of_speculation_loads_the_model_twice_and_finds_no_room(start: Start) -> None:
    server = start("story", *WORKS, *SPECULATION, "--mem-fraction-static", "0.9")

    assert server.ended() == -signal.SIGKILL
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in server.log
    assert "eagle_worker.py" in server.log


def test_the_memory_lines_of_a_rank_add_up(start: Start) -> None:
    log = start("story", *WORKS, "--mem-fraction-static", "0.8").read_until(READY)

    found = [float(n) for n in re.findall(r"TP3\] (?:Load weight begin|Memory pool end)\. avail mem=([\d.]+) GB", log)]
    before, after = found
    weights, kv = (
        re.search(r"TP3\] Load weight end.* mem usage=([\d.]+) GB", log),
        re.search(r"TP3\] KV Cache is allocated. #tokens: \d+, K size: ([\d.]+) GB, V size: ([\d.]+) GB", log),
    )
    states = re.search(r"TP3\] Mamba Cache.* conv_state size: ([\d.]+)GB, ssm_state size: ([\d.]+)GB", log)
    assert weights
    assert kv
    assert states
    used = float(weights[1]) + sum(float(n) for n in (*kv.groups(), *states.groups()))
    assert before - used == pytest.approx(after, abs=0.05)
    assert after == pytest.approx(before * 0.2, abs=0.05)


def test_nvidia_smi_shows_what_the_ranks_hold_and_gives_it_back(start: Start, smi: Any) -> None:
    server = start("story", *WORKS)
    server.read_until(READY)

    apps = smi("--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv,noheader,nounits")
    cards = smi("--query-gpu=uuid,memory.total,memory.used,memory.free", "--format=csv,noheader,nounits")
    server.close()
    after = smi("--query-compute-apps=pid", "--format=csv,noheader")

    assert [name for _, _, name, _ in apps] == ["sglang::scheduler"] * 8
    held = {uuid: int(mib) for uuid, _, _, mib in apps}
    for uuid, total, used, free in cards:
        assert int(used) == held[uuid] + 4
        assert int(used) + int(free) == int(total) == 97887
    assert after == []


def test_nvidia_smi_refuses_a_field_it_does_not_know(start: Start, smi: Any, machine: Path) -> None:
    start("plain").close()

    header, *rows = smi("--query-gpu=index,memory.used", "--format=csv")

    assert header == ["index", "memory.used [MiB]"]
    assert rows[0] == ["0", "4 MiB"]
    with pytest.raises(Exception, match="returned non-zero exit status 2"):
        smi("--query-gpu=index,mood", "--format=csv")
    assert machine.exists()


def test_memory_of_dead_ranks_comes_back_late_where_the_scenario_says_so(start: Start, smi: Any) -> None:
    server = start("slow-release", *WORKS)
    server.read_until("Memory pool end")
    server.close()

    used = smi("--query-gpu=memory.used", "--format=csv,noheader,nounits")
    apps = smi("--query-compute-apps=pid", "--format=csv,noheader")

    assert max(int(row[0]) for row in used) > 1000
    assert apps == []


@pytest.mark.parametrize(("keep", "kept"), [("1", True), ("", False)])
def test_the_title_of_a_rank_takes_its_environment_along_unless_told_not_to(
    start: Start, smi: Any, keep: str, kept: bool
) -> None:
    start("story", *WORKS, env={"SPT_NOENV": keep, "LAB_MARK": "here"}).read_until(READY)

    pid = smi("--query-compute-apps=pid", "--format=csv,noheader")[0][0]
    assert Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").startswith(b"sglang::scheduler_TP")
    assert (b"LAB_MARK=here" in Path(f"/proc/{pid}/environ").read_bytes()) is kept


def test_a_rank_that_dies_under_a_running_server_is_missed_by_the_old_release(start: Start, smi: Any) -> None:
    server = start("story", *WORKS)
    server.read_until(READY)
    pid = int(smi("--query-compute-apps=pid", "--format=csv,noheader")[0][0])

    _kill(pid)

    # The kernel may take a moment to end it.
    assert 503 in (server.ask("/health")[0] for _ in range(200))
    assert server.process.poll() is None


def test_a_rank_that_dies_under_a_running_server_ends_the_new_release(start: Start, smi: Any) -> None:
    server = start("renamed-flags", "--attention-backend", "triton")
    server.read_until(READY)

    _kill(int(smi("--query-compute-apps=pid", "--format=csv,noheader")[0][0]))

    assert server.ended() == -signal.SIGKILL
    assert "crashed with exit code -9. Triggering SIGQUIT for cleanup..." in server.log
    assert "SIGQUIT received. signum=None, frame=None" in server.log


@pytest.mark.parametrize(("scenario", "status"), [("story", -signal.SIGKILL), ("renamed-flags", 0)])
def test_sigterm_ends_a_running_server_in_the_way_of_its_release(start: Start, scenario: str, status: int) -> None:
    server = start(scenario, *WORKS)
    server.read_until(READY)

    server.process.terminate()

    assert server.ended() == status
    assert "Gracefully exiting..." in server.log


def test_sigterm_during_start_ends_it_at_once(start: Start) -> None:
    server = start("nccl-hang", *WORKS)
    server.read_until("sglang is using nccl")

    server.process.terminate()

    assert server.ended() == -signal.SIGTERM


def test_a_key_is_asked_for_except_by_health_checks(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "secret.yaml"
    config.write_text("api-key: sesame\n")
    server = start("story", *WORKS, "--config", str(config))
    server.read_until(READY)

    assert server.ask("/health")[0] == 200
    assert server.ask("/v1/models")[0] == 401
    assert server.ask("/v1/models", headers={"Authorization": "Bearer sesame"})[0] == 200


def test_more_ranks_than_cards_is_refused_by_the_card(start: Start) -> None:
    server = start("story", *WORKS, env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"})

    assert server.ended() == -signal.SIGKILL
    assert "torch.AcceleratorError: CUDA error: invalid device ordinal" in server.log


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
