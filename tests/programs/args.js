// Prints process.argv.slice(2) as JSON. Right: the strings of the request, exactly.
console.log(JSON.stringify(process.argv.slice(2)));
