# Describes the sandbox from the inside, as JSON. Right: gVisor's kernel, no privileges, no network, a read-only root.
import ctypes
import json
import os
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ = 39, 23


def status():
    with open("/proc/self/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def try_write(directory):
    path = os.path.join(directory, "mayfly-probe")
    try:
        open(path, "w").close()
        os.unlink(path)
        return "written"
    except OSError as error:
        return os.strerror(error.errno)


def interfaces():
    names = []
    try:
        with open("/proc/net/dev") as file:
            names = [line.split(":")[0].strip() for line in file if ":" in line]
    except OSError:
        pass
    if os.path.isdir("/sys/class/net"):
        names += os.listdir("/sys/class/net")
    return sorted(set(names))


def kernel_log():
    buffer = ctypes.create_string_buffer(65536)
    size = libc.klogctl(3, buffer, len(buffer))
    return buffer.raw[:max(size, 0)].decode("utf-8", "replace")


print(json.dumps({
    "uname": subprocess.run(["uname", "-a"], capture_output=True, text=True).stdout,
    "release": os.uname().release,
    "hostname": os.uname().nodename,
    "kernel_log": kernel_log(),
    "uids": os.getresuid(), "gids": os.getresgid(), "groups": os.getgroups(),
    "status": status(),
    "no_new_privs": libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
    "bounding": [cap for cap in range(41) if libc.prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1],
    "interfaces": interfaces(),
    "writes": {path: try_write(path) for path in ("/", "/usr", "/usr/bin", "/etc", "/root", "/var", "/var/tmp", "/dev", "/proc",
                                                  "/sys", "/opt", "/home", "/boot", "/lib")},
    "writable": {path: try_write(path) for path in (os.getcwd(), "/tmp", "/dev/shm", os.environ.get("HOME", ""))},
    "env": dict(os.environ),
    "root_flags": os.statvfs("/").f_flag,
    "cwd": os.getcwd(),
    "pid": os.getpid(), "ppid": os.getppid(),
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "fds": sorted(int(name) for name in os.listdir("/proc/self/fd")),
    "path": sys.path, "argv": sys.argv,
}))
