# Ignores every signal that can be ignored, then spins. Right: TIMED_OUT on time.
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print("spinning")
while True:
    pass
