"""A client of a cluster of Dask: `cluster.py ADDRESS WORKERS`. Prints what was computed."""

import hashlib
import sys

from distributed import Client, wait


def block(number):
    return hashlib.sha256(b"%d" % number).digest() * 32_000


def joined(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def main():
    with Client(sys.argv[1], timeout=30) as client:
        client.wait_for_workers(int(sys.argv[2]), timeout=30)
        workers = sorted(client.scheduler_info()["workers"])
        print(f"{len(workers)} workers")
        # Each block is one worker's, and each sum needs blocks of all of them.
        blocks = [client.submit(block, at, workers=workers[at % len(workers)]) for at in range(16)]
        wait(blocks)
        sums = [client.submit(joined, *blocks[at::3], workers=workers[at % len(workers)]) for at in range(3)]
        print(*client.gather(sums))
        print(joined(*client.gather(blocks)))
        # Small tasks, and data that goes out from here.
        print(sum(client.gather(client.map(lambda x: x * x, range(500)))))
        sent = client.scatter([block(at) for at in range(4)], broadcast=True)
        print(client.submit(joined, *sent).result())
        client.shutdown()


if __name__ == "__main__":
    main()
