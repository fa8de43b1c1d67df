# Makes output files with hostile names. Right: a well-formed answer; what is not UTF-8 is omitted, with a reason.
import os
for name in (b"\xc3.txt", b"new\nline.txt", b"back\\slash.txt", b"quote\".txt", b"-rf.txt", b"\xe2\x98\x95.txt", b" .txt",
             b"*.txt", b"a" * 251 + b".txt"):
    with open(name, "wb") as file:
        file.write(b"x")
os.makedirs(b"\xff/sub", exist_ok=True)
open(b"\xff/sub/in.txt", "wb").close()
