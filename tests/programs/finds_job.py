# Looks for the request's other parts outside of where they belong. Input: a secret in stdin, another in the file
# "given.txt". Right: prints only "clean".
import os
import sys

secrets = [sys.stdin.buffer.read(), open("given.txt", "rb").read(), b"def looks_for_itself"]
me = str(os.getpid())


def looks_for_itself(path):
    try:
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 8 << 20:
            return
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            data = file.read(1 << 20)
        for number, secret in enumerate(secrets):
            if secret in data:
                print("FOUND", number, path)
    except OSError:
        pass


for process in os.listdir("/proc"):
    if process.isdigit() and process != me:
        for name in ("cmdline", "environ", "comm", "status", "maps", "mem", "auxv", "mountinfo"):
            looks_for_itself("/proc/%s/%s" % (process, name))
for top in ("/tmp", "/dev", "/run", "/var", "/etc", "/mnt", "/media", "/home", "/root", "/opt", "/srv", "/boot"):
    for directory, names, files in os.walk(top):
        for name in files:
            looks_for_itself(os.path.join(directory, name))
for name in os.listdir("/"):
    looks_for_itself(os.path.join("/", name))
for name in os.listdir("."):
    if name not in (os.path.basename(__file__), "given.txt"):
        print("EXTRA", name)
print("clean")
