# Leaves a child that holds stdout and stderr. Right: EXITED 0 at once, the orphan is ended.
import subprocess
subprocess.Popen(["sleep", "30"])
print("done")
