# Writes 1 GiB to stdout, in 1,024 blocks that each begin with their own number: a block that is lost, doubled or out of
# order changes the content, not only the length.
import sys

BLOCK = bytes(range(256)) * 4096
for number in range(1024):
    sys.stdout.buffer.write(number.to_bytes(8, "little") + BLOCK[8:])
