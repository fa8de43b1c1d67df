# Sleeps for argv[1] seconds. Right: uses no CPU meanwhile; ends with it, or with its limit, or with its caller.
import sys
import time
print("asleep")
time.sleep(float(sys.argv[1]))
print("awake")
