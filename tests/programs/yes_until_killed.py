# Writes without end, ignores SIGTERM and SIGPIPE. Right: cancelled or limited, it is gone in about a second.
import signal
import sys
for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        sys.stdout.write("y\n" * 1000)
        sys.stdout.flush()
    except OSError:
        pass
