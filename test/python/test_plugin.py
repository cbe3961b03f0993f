"""The plugin of pytest (packaging/python): what it says about tests on ranks that pass, fail, crash
and hang.

Run by run.sh, which sets PATH and PYTHONPATH."""
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"


def command(*arguments):
    return [sys.executable, "-m", "pytest", "-p", "finegrain_mpi.pytest_plugin", "-p", "no:cacheprovider", "-c", "/dev/null",
            "--rootdir", str(SAMPLES), *arguments]


def run(*arguments, status=0, **variables):
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", COLUMNS="200", **variables)
    done = subprocess.run(command(*arguments), cwd=SAMPLES, capture_output=True, text=True, timeout=150, env=environment)
    output = done.stdout + done.stderr
    assert done.returncode == status, output
    return output


def part(output, test):
    """What pytest says about a failure of a test."""
    found = re.search(r"^_+ (ERROR at \w+ of )?%s\[mpi-4\] _+$(.*?)(?=^(_{5}|={5}))" % test, output, re.S | re.M)
    assert found, "%s is not in\n%s" % (test, output)
    return found.group(2)


@pytest.fixture(scope="module")
def faults():
    return run("test_faults.py", "-v", "--mpi-grace=6", "--mpi-processes=2", status=1)


OUTCOMES = {"after_it": "PASSED", "fixture": "ERROR", "descriptors": "ERROR", "end_of_fixture": "ERROR"}
SAYS = {
    "assertion": [r"---- rank 2 of 4 failed", r"assert \{'rank': 2\} != \{'rank': 2\}", r"ranks 0-1,3 of 4 did not end", "deadlock",
                  r"test_faults.py:\d+: in test_assertion", r"\[0-1\] on 0", r"\[3\] on 1"],
    "all_differ": [r"ranks 0-3 of 4 failed", r"\[3\] AssertionError: this is 3"],
    "exit": ["rank 1 of 4 failed", "SystemExit: 3", "deadlock"],
    "quick_exit": [r"rank 1:\s+has ended without a word"],
    "crash": ["the job has ended", r"rank 1:\s+Fatal Python error: Segmentation fault", "in test_crash"],
    "abort": ["rank 1 called MPI_Abort with error code 7"],
    "spin": [r"timeout", r"rank 1:\s+.*test_faults.py:\d+: in test_spin", r"in the program.*rank 1"],
    "polls": [r"rank 3 of 4 failed", r"rank 3 failed, and others did not end within 6 s", "in test_polls"],
    "odd_exception": [r"ranks 0-3 of 4 failed", "Odd"],
    "output": [r"\[0-3\] \.\.\. \d+ characters are left out", r"\d+ characters of output are left out"],
    "interrupt": ["rank 1 of 4: KeyboardInterrupt", "ranks 0,2-3 of 4 did not end"],
    "fixture": ["rank 1 of 4 failed in setup", "the fixture fails", "ranks 0,2-3 of 4 did not end"],
    "end_of_fixture": ["rank 1 of 4 failed in teardown", "the end fails"],
    "descriptors": ["use capsys"],
    "unexpected_pass": [r"XPASS\(strict\)"],
}


@pytest.mark.parametrize("test", SAYS)
def test_fault(faults, test):
    assert re.search(r"test_faults.py::test_%s\[mpi-4\] %s" % (test, OUTCOMES.get(test, "FAILED")), faults), faults
    text = part(faults, "test_" + test)
    for expected in SAYS[test]:
        assert re.search(expected, text), "%s is not in\n%s" % (expected, text[:5000])


def test_others_go_on(faults):
    assert "test_after_it[mpi-4] PASSED" in faults
    assert len(faults) < 1 << 20


def test_well(tmp_path):
    output = run("test_well.py", "-v", "-rA", "--junitxml=%s" % (tmp_path / "x.xml"), "--mpi-ranks", "1,2")
    for expected in ("test_here PASSED", r"test_default\[mpi-1\] PASSED", r"test_default\[mpi-2\] PASSED",
                     r"test_parameters\[b-mpi-3\] PASSED", r"test_second\[mpi-4\] PASSED",
                     r"test_skip\[mpi-4\] SKIPPED \(not here\)", r"test_skip_on_some\[mpi-4\] PASSED",
                     r"test_expected\[mpi-4\] XFAIL", r"test_expected_deadlock\[mpi-4\] XFAIL",
                     r"test_no_message\[mpi-4\] PASSED", "DeprecationWarning: old",
                     "messages were left on MPI_COMM_WORLD for rank 3", r"\[1-3\] Skipped: only rank 0"):
        assert re.search(expected, output), output
    cases = xml.etree.ElementTree.parse(tmp_path / "x.xml").getroot()[0]
    assert len(cases.findall("testcase")) == int(cases.attrib["tests"]) == 16
    assert [p.attrib["value"] for p in cases.iter("property")] == ["0", "1"]


def test_selection():
    output = run("test_faults.py", "test_well.py", "-k", "mpi-2 or after_it", "--mpi-ranks=2", "-v", "-x")
    assert "2 passed" in output
    output = run("test_well.py", "--collect-only", "-q", "--mpi-ranks=7")
    assert "test_default[mpi-7]" in output
    output = run("test_faults.py", "-x", "-k", "all_differ or odd_exception", status=1)
    assert "1 failed" in output and "stopping after 1 failures" in output


def test_workers():
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    output = run("test_well.py", "-n", "2", "--dist", "loadscope", "--mpi-ranks=1,2")
    assert "13 passed, 1 skipped, 2 xfailed" in output, output


def test_what_is_missing():
    assert "fgmpi-python is not found" in run("test_well.py", "-k", "default", PATH="/usr/bin:/bin", status=1)
    assert "nothing is not found" in run("test_well.py", "-k", "default", "--mpiexec", "nothing", status=1)
    assert "'0' is not a number of ranks" in run("test_well.py", "--mpi-ranks", "0", status=4)
    assert "allowed are ranks and timeout" in run("-k", "x", "--co", str(SAMPLES / "wrong_marker.py"), status=2)


def test_communicator():
    """mpi_comm, and the example, with a stand-in for mpi4py."""
    path = os.environ["PYTHONPATH"] + ":" + str(SAMPLES / "stand_in")
    run("test_comm.py", PYTHONPATH=path)
    example = Path(__file__).parents[2] / "packaging" / "python" / "examples" / "test_ring.py"
    assert "9 passed" in run(str(example), "--mpi-ranks=1,4,16", PYTHONPATH=path)
    assert "mpi_comm needs mpi4py" in run("test_comm.py", status=1) or mpi4py_is_there()


def mpi4py_is_there():
    return subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True).returncode == 0


def test_interrupt_of_pytest(tmp_path):
    """Ctrl-C, and the end of pytest by a signal: no rank is left behind."""
    sample = tmp_path / "test_long.py"
    sample.write_text("import pytest\n@pytest.mark.mpi(ranks=3, timeout=0)\ndef test_long(tmp_path):\n"
                      "    open(%r + 'begun', 'w')\n    while True: pass\n" % str(tmp_path / ""))
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(command(str(sample)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        begun = Path(str(tmp_path / "") + "begun")
        wait_for(begun.exists)
        begun.unlink()
        process.send_signal(number)
        output = process.communicate(timeout=30)[0]
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in output and process.returncode == 2, output
        wait_for(lambda: not ranks_of(process.pid, sample))


def ranks_of(pid, sample):
    """Numbers of processes of ranks that work on the sample."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if b"finegrain_mpi/rank.py" in (folder / "cmdline").read_bytes() and \
                    str(sample.parent).encode() in (folder / "environ").read_bytes() + os.readlink(folder / "cwd").encode():
                found.append(folder.name)
        except OSError:
            pass
    return found


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
