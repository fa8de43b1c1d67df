# Affinity, stat, pipe2, threads, a child, a temporary file, time and randomness: what any program uses. Right: "ok".
import os
import secrets
import subprocess
import tempfile
import threading
import time
assert len(os.sched_getaffinity(0)) >= 1
assert os.stat("/").st_mode
read, write = os.pipe2(os.O_CLOEXEC)
os.write(write, b"x")
assert os.read(read, 1) == b"x"
seen = []
threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(seen) == list(range(8))
assert subprocess.run(["true"]).returncode == 0
with tempfile.TemporaryFile() as file:
    file.write(b"x")
assert time.time() > 1.6e9 and len(secrets.token_bytes(8)) == 8
print("ok")
