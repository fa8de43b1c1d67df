// Fills V8's heap without end. Right: OUT_OF_MEMORY, whether V8 aborts or the sandbox is killed.
console.log('before');
const kept = [];
for (;;) kept.push(new Array(1000).fill(kept.length).map((x) => ({x})));
