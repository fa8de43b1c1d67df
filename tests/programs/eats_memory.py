# Takes memory by the MiB without end. Right: OUT_OF_MEMORY; its output until then is kept.
print("before")
kept = []
while True:
    kept.append(bytearray(b"x" * (1 << 20)))
