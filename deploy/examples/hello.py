"""What deploy/quickstart runs: a program that shows where it is, line by line as it goes."""

import os
import platform
import socket
import time

print(f"Hello from Python {platform.python_version()}.", flush=True)
for left in (3, 2, 1):
    print(f"  {left}", flush=True)
    time.sleep(0.4)

print(f"The kernel is {os.uname().release}: gVisor's, not the host's.")
print(f"I am user {os.getuid()} in {os.getcwd()}.")
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    print("There is a network. There should be none!")
except OSError as error:
    print(f"There is no network: {error}.")
