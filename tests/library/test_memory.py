"""What check_memory knows: the system, control groups of both versions, the address space."""

import os
import subprocess
import sys

import numpy as np
import pytest

from mahalearn import GaussianClassifier, _validation
from mahalearn._validation import available_memory, check_memory

GIB = 2**30
resource = pytest.importorskip("resource")  # POSIX only


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A pretended system with 64 GiB free; write(path, text) adds files to it."""

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    monkeypatch.setattr(_validation, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(_validation, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY,) * 2)
    write("proc/meminfo", f"MemTotal: 1 kB\nMemAvailable: {64 * 2**20} kB\n")
    return write


def test_the_system(system):
    assert available_memory() == 64 * GIB


def test_control_groups_version_2(system):
    system("proc/self/cgroup", "0::/jobs/one\n")
    assert available_memory() == 64 * GIB
    system("cgroup/jobs/one/memory.max", f"{4 * GIB}\n")
    system("cgroup/jobs/one/memory.current", f"{1 * GIB}\n")
    assert available_memory() == 3 * GIB
    # Cached files can be dropped.
    system("cgroup/jobs/one/memory.stat", f"anon 5\ninactive_file {GIB // 2}\nfile 7\n")
    assert available_memory() == 3.5 * GIB
    # The group above has a smaller limit.
    system("cgroup/jobs/memory.max", f"{2 * GIB}\n")
    system("cgroup/jobs/memory.current", f"{2 * GIB - 5}\n")
    assert available_memory() == 5
    system("cgroup/jobs/memory.max", "max\n")
    assert available_memory() == 3.5 * GIB
    system("cgroup/jobs/one/memory.current", f"{9 * GIB}\n")
    assert available_memory() == 0


def test_control_groups_version_2_inside_a_container(system):
    system("proc/self/cgroup", "0::/\n")
    system("cgroup/memory.max", f"{GIB}\n")
    system("cgroup/memory.current", "24\n")
    assert available_memory() == GIB - 24


def test_control_groups_version_1(system):
    system("proc/self/cgroup", "11:cpu,cpuacct:/a\n4:memory:/docker/x:y\n1:name=systemd:/b\n")
    system("cgroup/memory/docker/x:y/memory.limit_in_bytes", f"{2 * GIB}\n")
    system("cgroup/memory/docker/x:y/memory.usage_in_bytes", f"{GIB}\n")
    system("cgroup/memory/docker/x:y/memory.stat", f"cache 3\ntotal_inactive_file {GIB // 4}\n")
    system("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    system("cgroup/memory/memory.usage_in_bytes", f"{GIB}\n")
    assert available_memory() == 1.25 * GIB


def test_control_groups_version_1_with_the_path_of_the_host(system):
    system("proc/self/cgroup", "4:memory:/docker/not-mounted-here\n")
    system("cgroup/memory/memory.limit_in_bytes", f"{2 * GIB}\n")
    system("cgroup/memory/memory.usage_in_bytes", f"{GIB}\n")
    assert available_memory() == GIB


def test_the_address_space(system, monkeypatch):
    system("proc/self/statm", "100 50 20 1 0 30 0\n")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (GIB, GIB))
    assert available_memory() == GIB - 100 * resource.getpagesize()


def test_unreadable_files_say_nothing(system):
    system("proc/meminfo", "")
    system("proc/self/cgroup", "0::/\n")
    system("cgroup/memory.max", "nonsense\n")
    assert available_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_check_memory_says_what_to_do(system):
    check_memory(GIB, "A matrix")
    with pytest.raises(MemoryError, match=r"A matrix needs about 80.0 GiB, and 64.0 GiB are .* Go"):
        check_memory(10 * GIB, "A matrix", "Go away.")


LIMITED = """
import resource
import numpy as np
from mahalearn import GaussianClassifier
from mahalearn._validation import available_memory

X, y = np.zeros((60, 3000)), np.arange(60) % 2
X[:] = np.random.default_rng(0).normal(size=X.shape)
thin = GaussianClassifier().fit(X, y)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**29, used + 2**29))
assert 2**28 < available_memory() <= 2**29
for act in (
    lambda: GaussianClassifier().partial_fit(X, y, classes=[0, 1]),
    lambda: GaussianClassifier(feature_weights="descent").fit(X, y),
    lambda: thin.partial_fit(X, y),
    lambda: thin.feature_distances(X),
):
    try:
        act()
    except MemoryError as error:
        assert "features" in str(error) and "covariance='diag'" in str(error), error
        print("refused")
print((GaussianClassifier().fit(X, y).predict(X) == y).mean())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_gaussian_classifier_asks_first():
    """Under a limit of half a gibibyte matrices of 3,000 features are refused, the rest works."""
    run = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["refused"] * 4 + ["1.0"]


def test_nothing_is_allocated_before_the_question():
    X = np.random.default_rng(0).normal(size=(8, 200_000))  # 298 GiB for one matrix
    y = np.arange(8) % 2
    with pytest.raises(MemoryError, match="200000 features in 2 classes"):
        GaussianClassifier().partial_fit(X, y, classes=[0, 1])
    model = GaussianClassifier().fit(X, y)
    assert model.score(X, y) == 1
    with pytest.raises(MemoryError, match="200000 features"):
        _ = model.covariances_
