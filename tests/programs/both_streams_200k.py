# Writes 200,000 bytes to each of stdout and stderr, without a newline. Right: all of them arrive.
import sys
sys.stdout.write("o" * 200000)
sys.stderr.write("e" * 200000)
