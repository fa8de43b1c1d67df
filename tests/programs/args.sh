# Prints its arguments, each ended by a NUL. Right: the strings of the request, exactly.
for word in "$@"; do printf '%s\0' "$word"; done
