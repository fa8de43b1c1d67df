// Copies stdin to stdout, byte for byte. Right: what was sent in comes out.
process.stdin.pipe(process.stdout);
