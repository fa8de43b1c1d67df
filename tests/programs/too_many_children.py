# Starts 200 sleeping children under a limit of 64 processes. Right: refused near 64; the program lives and says so.
import gc
import os
import signal
import time
children = []
gc.freeze()  # children that touch little memory: the limit to meet is that of processes
try:
    for _ in range(200):
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        children.append(pid)
    print("all", len(children))
except OSError as error:
    print("refused", error.errno, len(children))
for pid in children:
    os.kill(pid, signal.SIGKILL)
