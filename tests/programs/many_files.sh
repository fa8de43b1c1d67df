# Makes 400 output files. Right: 256 are listed, in path order, and 144 counted as unlisted.
mkdir out
for i in $(seq 1000 1399); do echo "$i" > "out/$i"; done
