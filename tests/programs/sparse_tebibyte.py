# Makes an output file of 1 TiB that takes no space. Right: listed as too large, or refused inside; nobody reads a TiB.
try:
    with open("b", "wb") as file:
        file.truncate(1 << 40)
    print("made")
except OSError as error:
    print("refused", error.errno)
