# Leaves children, grandchildren and a session of its own behind, then waits. Right: TIMED_OUT, nothing survives.
sleep 300 & (sleep 300 &); setsid sleep 300 & wait
