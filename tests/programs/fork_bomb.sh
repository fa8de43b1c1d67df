# The classic fork bomb. Right: it meets the process limit, the sandbox ends within its wall limit, the next is fine.
:(){ :|:& };:
wait
sleep 60
