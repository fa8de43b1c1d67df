# Copies stdin to stdout, byte for byte. Right: what was sent in comes out.
import shutil
import sys
shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)
