# Runs each setuid and setgid program of the image, and its own setuid copies. Right: none runs as another user.
import ctypes
import os
import shutil
import stat
import subprocess
import time

ids = (os.getuid(), os.getgid())
libc = ctypes.CDLL(None)
print("no_new_privs", libc.prctl(39, 0, 0, 0, 0))
found = []
for top in ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/bin", "/sbin", "/opt"):
    for directory, _, names in os.walk(top):
        for name in names:
            path = os.path.join(directory, name)
            try:
                info = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode) and info.st_mode & 0o6000:
                found.append(path)
for target in ("/tmp/copy", "copy"):
    shutil.copy(shutil.which("sleep"), target)
    try:
        os.chmod(target, 0o6755)
    except OSError:
        pass
    found.append(os.path.abspath(target))
for path in found:
    try:
        child = subprocess.Popen([path, "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
    except OSError:
        continue
    time.sleep(0.1)
    try:
        lines = open("/proc/%d/status" % child.pid).read().splitlines()
        uids = [line.split()[1:] for line in lines if line.startswith("Uid:")][0]
        gids = [line.split()[1:] for line in lines if line.startswith("Gid:")][0]
        if set(uids) != {str(ids[0])} or set(gids) != {str(ids[1])}:
            print("GAINED", path, uids, gids)
    except (OSError, IndexError):
        pass
    child.kill()
    child.wait()
print("checked")
