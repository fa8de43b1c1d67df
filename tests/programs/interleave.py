# Writes 2,000 numbered lines to stdout and stderr in turn. Right: each stream is exact by itself.
import os
for i in range(2000):
    os.write(1, b"out %d\n" % i)
    os.write(2, b"err %d\n" % i)
