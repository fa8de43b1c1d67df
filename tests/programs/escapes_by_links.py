# Leaves the root by links and by descriptors of directories. Right: "..", /proc/self/root and open directories stay in.
import os
root = os.open("/", os.O_RDONLY)
up = os.open("../../../../../..", os.O_RDONLY, dir_fd=root)
print("same" if os.fstat(root).st_ino == os.fstat(up).st_ino else "ABOVE")
print("same" if sorted(os.listdir("/proc/self/root/")) == sorted(os.listdir("/")) else "OTHER")
for name in os.listdir("/proc/self/fd"):
    target = ""
    try:
        target = os.readlink("/proc/self/fd/" + name)
        if int(name) > 2 and int(name) not in (root, up) and not target.startswith("/proc/"):
            print("OPEN", name, target)
    except OSError:
        pass
