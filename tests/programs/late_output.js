// Writes from a timer and from the exit handler. Right: all is kept, the exit code is the handler's.
setTimeout(() => console.log('timer'), 300);
process.on('exit', () => {
  console.log('exit');
  process.exitCode = 4;
});
console.log('main');
