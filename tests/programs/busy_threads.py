# 40 sleeping threads under the default process limit. Right: fine.
import threading
import time
threads = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("joined", len(threads))
