# Double fork, setsid, SIGHUP ignored, descriptors closed. Right: EXITED 0 at once; the daemon is gone with the sandbox.
import os
import signal
import time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        time.sleep(300)
    os._exit(0)
os.wait()
print("parent done")
