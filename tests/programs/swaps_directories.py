# A child swaps a directory for a link to /etc as fast as it can, while and after the program ends. Right: no byte of
# /etc/passwd comes back: children are dead before files are collected, and links are not followed.
import os
os.mkdir("dir")
open("dir/passwd", "w").write("mine\n")
if os.fork() == 0:
    os.setsid()
    while True:
        os.rename("dir", "aside")
        os.symlink("/etc", "dir")
        os.unlink("dir")
        os.rename("aside", "dir")
