# Leaves files wherever it can. Right: none of them is there for the next execution (see finds_state.py).
import os
import sys
left = []
for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", os.environ.get("HOME", "/nowhere"), os.getcwd(), "/dev", "/"):
    path = os.path.join(place, "mayfly-left-" + sys.argv[1])
    try:
        open(path, "w").write("left")
        left.append(path)
    except OSError:
        pass
print(len(left))
