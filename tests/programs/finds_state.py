# Looks for what leaves_state.py left. Right: prints nothing but "clean".
import os
found = []
for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", os.environ.get("HOME", "/nowhere"), os.getcwd(), "/dev", "/"):
    try:
        found += [os.path.join(place, name) for name in os.listdir(place) if name.startswith("mayfly-left-")]
    except OSError:
        pass
print(found or "clean")
