# Writes the three bytes of a character 0.2 s apart, after argv[1] times "a". Right: the bytes arrive as they are.
import os
import sys
import time
filler = b"a" * int(sys.argv[1])
while filler:
    filler = filler[os.write(1, filler):]
for byte in b"\xe2\x98\x95":
    os.write(1, bytes([byte]))
    time.sleep(0.2)
