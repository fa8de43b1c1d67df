# Forks without end and never gives up. Right: it meets the process limit and its wall limit; nothing survives.
import os
import time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
