# Opens what the runner has in /proc/1. Right: each line says "denied".
import ctypes
import os


def attempt(what, call):
    try:
        print("ALLOWED", what, repr(call())[:200])
    except OSError:
        print("denied", what)


def vm_read():
    class Span(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(16)
    local, remote = Span(ctypes.addressof(buffer), 16), Span(0x400000, 16)
    if libc.process_vm_readv(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return buffer.raw


def pidfd_getfd():
    pidfd = os.pidfd_open(1)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(438, pidfd, 1, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return fd


attempt("fd", lambda: os.listdir("/proc/1/fd"))
for number in range(8):
    attempt("fd %d" % number, lambda: open("/proc/1/fd/%d" % number, "rb+", buffering=0))
    attempt("link of fd %d" % number, lambda: os.readlink("/proc/1/fd/%d" % number))
attempt("mem", lambda: open("/proc/1/mem", "rb").read(1))
attempt("mem for writing", lambda: open("/proc/1/mem", "rb+"))
attempt("environ", lambda: open("/proc/1/environ", "rb").read())
attempt("root", lambda: os.listdir("/proc/1/root/"))
attempt("cwd", lambda: os.listdir("/proc/1/cwd/"))
attempt("vm_read", vm_read)
attempt("pidfd_getfd", pidfd_getfd)
