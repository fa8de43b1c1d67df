# Tries what only root may do. Right: each line says "denied"; nothing else changes.
import ctypes
import os
import resource
import signal
import stat

libc = ctypes.CDLL(None, use_errno=True)


def attempt(what, call):
    try:
        result = call()
    except (OSError, ValueError) as error:  # ValueError: how setrlimit says EPERM
        print("denied", what, error)
        return
    if isinstance(result, int) and result < 0:
        print("denied", what, ctypes.get_errno())
    else:
        print("ALLOWED", what, result)


def libc_call(name, *args):
    return lambda: getattr(libc, name)(*args)


def device(path, kind, major, minor):
    # gVisor lets anybody make the node; what it stands for must be out of reach all the same.
    os.mknod(path, 0o666 | kind, os.makedev(major, minor))
    return os.open(path, os.O_RDWR)


attempt("memory device", lambda: device("/tmp/mem", stat.S_IFCHR, 1, 1))
attempt("disk device", lambda: device("/tmp/disk", stat.S_IFBLK, 8, 0))
attempt("kvm device", lambda: device("/tmp/kvm", stat.S_IFCHR, 10, 232))
attempt("mount proc", libc_call("mount", b"proc", b"/tmp", b"proc", 0, None))
attempt("mount tmpfs", libc_call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attempt("remount /", libc_call("mount", None, b"/", None, 0x20, None))
attempt("bind mount", libc_call("mount", b"/etc", b"/tmp", None, 0x1000, None))
attempt("umount /tmp", libc_call("umount2", b"/tmp", 2))
attempt("pivot_root", libc_call("syscall", 155, b"/tmp", b"/tmp"))
attempt("chroot", lambda: os.chroot("/tmp") or "done")
attempt("setuid 0", lambda: os.setuid(0) or "done")
attempt("setgid 0", lambda: os.setgid(0) or "done")
attempt("setgroups", lambda: os.setgroups([0]) or "done")
attempt("setresuid 0", lambda: os.setresuid(0, 0, 0) or "done")
attempt("sethostname", lambda: libc.sethostname(b"owned", 5))
attempt("kill 1", lambda: os.kill(1, signal.SIGKILL) or "done")
attempt("stop 1", lambda: os.kill(1, signal.SIGSTOP) or "done")
attempt("term 1", lambda: os.kill(1, signal.SIGTERM) or "done")
attempt("signal 0 to 1", lambda: os.kill(1, 0) or "done")
attempt("ptrace attach 1", libc_call("ptrace", 16, 1, 0, 0))
attempt("ptrace seize 1", libc_call("ptrace", 0x4206, 1, 0, 0))
attempt("reboot", libc_call("syscall", 169, 0xfee1dead, 672274793, 0x1234567, 0))
attempt("swapon", libc_call("swapon", b"/tmp/x", 0))
attempt("init_module", libc_call("syscall", 175, b"", 0, b""))
attempt("bpf", libc_call("syscall", 321, 0, None, 0))
attempt("settimeofday", libc_call("settimeofday", ctypes.create_string_buffer(16), None))
attempt("raise nproc", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (10**6, 10**6)) or "done")
attempt("chown", lambda: os.chown("/tmp", 0, 0) or "done")
attempt("setns of 1", lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
attempt("perf_event_open", libc_call("syscall", 298, ctypes.create_string_buffer(128), 0, -1, -1, 0))
