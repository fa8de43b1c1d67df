// Prints its whole environment. Right: an allow-list only, the same for every caller.
console.log(JSON.stringify(process.env));
