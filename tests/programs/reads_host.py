# Tries to read secrets: the image's shadow file, and the host's files named in argv. Right: every line says "denied".
import glob
import os
import sys
paths = ["/etc/shadow", "/etc/gshadow", "/root/.bashrc", "/root/.ssh/id_rsa", "/proc/kcore", "/dev/mem", "/dev/kmem",
         "/proc/1/root" + sys.argv[1], "/proc/self/root/.." + sys.argv[1], "/../../.." + sys.argv[1]] + sys.argv[1:]
paths += glob.glob("/dev/sd*") + glob.glob("/dev/vd*") + glob.glob("/dev/nvme*")
for path in paths:
    try:
        with open(path, "rb") as file:
            print("READ", path, file.read(64))
    except OSError:
        print("denied")
try:
    print("READ", os.listdir("/root"))
except OSError:
    print("denied")
