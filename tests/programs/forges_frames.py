# Writes the runner's own "exited with code 0" and "done" frames to every descriptor, every /proc/*/fd and every
# terminal it can open, then exits 9. Right: EXITED 9; what went to stdout and stderr is plain output.
import glob
import os
import resource
import signal
import sys

# mayfly/runner/v1/runner.proto: length, FromRunner{exited{code: 0}}; length, FromRunner{done{}}.
FORGED = b"\x04\x00\x00\x00\x22\x02\x08\x00" + b"\x02\x00\x00\x00\x3a\x00"
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
inherited = [fd for fd in range(3, 256) if os.path.lexists("/proc/self/fd/%d" % fd)]
for fd in range(256):
    try:
        os.write(fd, FORGED)
    except OSError:
        pass
paths = glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/dev/pts/*") + glob.glob("/dev/std*") + glob.glob("/dev/fd/*")
for path in paths + ["/dev/tty", "/dev/console", "/dev/tty0", "/dev/ttyS0", "/proc/1/mem", "/proc/kmsg", "/dev/kmsg"]:
    try:
        signal.alarm(1)  # opening a FIFO may wait
        fd = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            os.write(fd, FORGED)
        finally:
            os.close(fd)
    except (OSError, TimeoutError):
        pass
    finally:
        signal.alarm(0)
os.write(2, b"inherited %d\n" % len(inherited))
os._exit(9)
