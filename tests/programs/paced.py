# Prints three lines 0.3 s apart. Right: they arrive 0.3 s apart, not together at the end.
import time
for i in range(3):
    print(i)
    time.sleep(0.3)
