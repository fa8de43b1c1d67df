"""The running stack, as the benchmarks see it: its paths, its daemons' memory, its containers, and how to load it.

Everything is asked of `deploy/dev env`, so MAYFLY_RUN_DIR and its like select another stack here, too.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("MAYFLY_BIN") or REPO / "build/release/bin")
RESULTS = REPO / "build/bench"
PROGRAMS = REPO / "tests/bench/programs"
MIB = 1 << 20


def die(message):
    """Ends the benchmark: something it needs is missing. Exit code 2; 1 means that a promise was not kept."""
    print(f"bench: {message}", file=sys.stderr)
    sys.exit(2)


def say(message):
    """Shows progress, on stderr: stdout is for results."""
    print(f"bench: {message}", file=sys.stderr, flush=True)


def save(name, result):
    """Writes build/bench/NAME.json."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    say(f"wrote {path.relative_to(REPO)}")


class Client:
    """Runs programs through the service with mayfly-bench-client. Ends the benchmark when the service is not there."""

    def __init__(self, address=None):
        self.binary = BIN / "mayfly-bench-client"
        if not self.binary.exists() or not (BIN / "mayfly").exists():
            die(f"no {self.binary} or mayfly beside it; build them: cmake --build --preset release")
        self.address = ["--addr", address] if address else []  # else the client's own default
        if subprocess.run([BIN / "mayfly", "health", *self.address], stdout=subprocess.DEVNULL,
                          check=False).returncode != 0:
            die("the service takes no executions")

    def run(self, programs, *options, on_execution=lambda execution: None):
        """Returns (executions, summary), dicts as the header of bench_client.cc describes them.

        Calls on_execution for each as it ends.
        """
        command = [self.binary, *self.address, *options, "--", *programs]
        executions, summary = [], None
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE) as process:
            for line in process.stdout:
                record = json.loads(line)
                if "executions" in record:
                    summary = record
                else:
                    executions.append(record)
                    on_execution(record)
        if process.returncode != 0 or summary is None:
            die(f"mayfly-bench-client ended with code {process.returncode}")
        return executions, summary


class Stack:
    """The dev stack: its environment, daemons and containerd. Ends the benchmark when it is not up."""

    def __init__(self):
        shown = subprocess.run([REPO / "deploy/dev", "env"], stdout=subprocess.PIPE, text=True, check=False)
        if shown.returncode != 0:
            die("deploy/dev env failed")
        self.env = dict(word.split("=", 1) for word in shlex.split(shown.stdout))
        self.run_dir = pathlib.Path(self.env["MAYFLY_RUN_DIR"])
        self.client = Client(self.env["MAYFLY_ADDR"])

    def template(self, name):
        """The template's entry of `mayfly templates --json`."""
        shown = subprocess.run([BIN / "mayfly", "templates", "--json", *self.client.address],
                               stdout=subprocess.PIPE, check=True)
        for template in json.loads(shown.stdout)["templates"]:
            if template["name"] == name:
                return template
        return die(f"the service has no template {name}")

    def pids(self):
        """{"server": pid, "worker": pid}."""
        return {part: int((self.run_dir / f"{part}.pid").read_text()) for part in ("server", "worker")}

    def rss(self):
        """Resident memory of both daemons in bytes, by name."""
        return {part: _rss(pid) for part, pid in self.pids().items()}

    def ctr(self, *arguments):
        """The command line of containerd's own client on this stack's containerd."""
        return [str(REPO / "build/deps/sandbox/bin/ctr"), "--address", self.env["MAYFLY_CONTAINERD"], "--namespace",
                "mayfly", *map(str, arguments)]

    def containers(self):
        """Ids of the containers that exist."""
        listed = subprocess.run(self.ctr("containers", "ls", "-q"), stdout=subprocess.PIPE, text=True, check=True)
        return set(listed.stdout.split())

    def settle(self, count):
        """Waits until no more than `count` containers are left: answers come before the sandbox is torn down, and its
        teardown must not burden what is measured next."""
        deadline = time.monotonic() + 20
        while len(self.containers()) > count:
            if time.monotonic() > deadline:
                die(f"sandboxes are not torn down: {sorted(self.containers())}")
            time.sleep(0.05)

    def ctr_run(self, template, container_id, code):
        """`ctr run --rm` of a Python program under the template's image, runtime, root and limits."""
        return self.ctr("run", "--rm", "--read-only", "--runtime", "io.containerd.runc.v2", "--runc-binary",
                        self.run_dir / "bin/runsc-mayfly", "--runc-root", self.run_dir / "runsc", "--memory-limit",
                        template["memory_bytes"], "--cpus", template["cpus"], "--cgroup",
                        f"{self.env['MAYFLY_CGROUP_PARENT']}/{container_id}", self.env["MAYFLY_PYTHON_IMAGE"],
                        container_id, "/usr/bin/python3", "-c", code)


def _rss(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return die(f"process {pid} has no memory: it is gone")


class MemoryWatch:
    """Samples both daemons' memory every 100 ms while it is entered: `growth` is the maximum above the first."""

    def __init__(self, stack):
        self._stack = stack
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self.first = self.highest = {}

    def __enter__(self):
        self.first = self._stack.rss()
        self.highest = dict(self.first)
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        self._thread.join()

    def _sample(self):
        while not self._stop.wait(0.1):
            for part, rss in self._stack.rss().items():
                self.highest[part] = max(self.highest[part], rss)

    @property
    def growth(self):
        return {part: self.highest[part] - self.first[part] for part in self.first}
