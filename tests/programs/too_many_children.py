# Starts 200 sleeping children under a limit of 64 processes. Right: refused near 64; the program lives and says so.
import os
import signal
children = []
try:
    for _ in range(200):  # small ones: the limit to meet is that of processes, not of memory
        children.append(os.posix_spawn("/usr/bin/sleep", ["sleep", "60"], {}))
    print("all", len(children))
except OSError as error:
    print("refused", error.errno, len(children))
for pid in children:
    os.kill(pid, signal.SIGKILL)
