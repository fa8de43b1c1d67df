# Writes 1 MiB to the workspace and 1 MiB to /tmp, for counting leaks. Right: EXITED 0, and the host gets it all back.
open("scratch", "wb").write(b"w" * (1 << 20))
open("/tmp/scratch", "wb").write(b"t" * (1 << 20))
print("ok")
