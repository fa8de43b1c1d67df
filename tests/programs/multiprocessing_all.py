# Pool with fork and with spawn, a Lock, a shared Value and 32 MiB of SharedMemory. Right: prints "ok" four times.
import multiprocessing as mp
from multiprocessing import shared_memory


def square(x):
    return x * x


def add(lock, value):
    for _ in range(100):
        with lock:
            value.value += 1


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with mp.get_context(method).Pool(2) as pool:
            print(method, "ok" if pool.map(square, range(10)) == [x * x for x in range(10)] else "wrong")
    context = mp.get_context("fork")
    lock, value = context.Lock(), context.Value("i", 0, lock=False)
    workers = [context.Process(target=add, args=(lock, value)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("lock", "ok" if value.value == 400 else "wrong")
    block = shared_memory.SharedMemory(create=True, size=32 << 20)
    block.buf[-1] = 7
    again = shared_memory.SharedMemory(block.name)
    print("shm", "ok" if again.buf[-1] == 7 else "wrong")
    again.close()
    block.close()
    block.unlink()
