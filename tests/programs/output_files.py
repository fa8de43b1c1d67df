# Makes files of several sizes and modes. Right: those the globs match come back, byte for byte.
import os
os.makedirs("out/deep/er")
open("out/empty", "wb").close()
open("out/bytes.bin", "wb").write(bytes(range(256)) * 1000)
open("out/deep/er/text.txt", "w").write("deep\n")
open("out/chunk", "wb").write(b"c" * 65536)
open("out/run.sh", "w").write("#!/bin/sh\n")
os.chmod("out/run.sh", 0o755)
open("plot.png", "wb").write(b"\x89PNG")
open("other.txt", "w").write("not asked for")
