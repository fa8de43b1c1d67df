# Writes 8 MiB to stdout in blocks of 64 KiB, as fast as it may, then its digest to stderr. Right: all of it arrives.
import hashlib
import os
import sys
digest = hashlib.sha256()
for i in range(128):
    block = (b"%07d\n" % i) * 8192
    digest.update(block)
    while block:
        block = block[os.write(1, block):]
sys.stderr.write(digest.hexdigest())
