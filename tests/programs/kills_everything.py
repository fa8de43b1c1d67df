# Signals every process it may. Right: only its own end; the result still comes, with the output until then.
import os
import signal
print("before")
for number in (signal.SIGSTOP, signal.SIGTERM):
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid():
            try:
                os.kill(int(process), number)
            except OSError:
                pass
os.kill(-1, signal.SIGKILL)
print("after")
