# Copies stdin to stdout, byte for byte, then says so. Right: what was sent in comes out, then "end".
cat; echo end
