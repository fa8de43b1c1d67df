# Replaces its own directory and files by links to elsewhere before it ends. Right: links are listed, never followed.
import os
import shutil
os.makedirs("sub/deep", exist_ok=True)
open("sub/deep/a.txt", "w").write("mine")
shutil.move("sub", "/tmp/sub")
os.symlink("/tmp/sub", "sub")
shutil.move("data.txt", "/tmp/data.txt")
os.symlink("/etc/passwd", "data.txt")
os.symlink("loop", "loop")
print("swapped")
