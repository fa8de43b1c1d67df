# Writes from a non-daemon thread, from asyncio and from atexit, after the main thread's end. Right: all is kept.
import asyncio
import atexit
import threading
import time


def late():
    time.sleep(1)
    print("thread")


async def soon():
    await asyncio.sleep(0.05)
    print("asyncio")

atexit.register(lambda: print("atexit"))
threading.Thread(target=late).start()
asyncio.run(soon())
print("main")
