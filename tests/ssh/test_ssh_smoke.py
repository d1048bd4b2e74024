import pytest
pytestmark = pytest.mark.ssh
def test_a_host_is_reached(sshd) -> None:
    import time
    h = sshd.host()
    t=time.time(); f = h.connect(); print(f, time.time()-t)
    t=time.time()
    for _ in range(300): h._ask("clock", timeout=5)
    print("rt ms", (time.time()-t)/300*1000, len(sshd.sessions()))
