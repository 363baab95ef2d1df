"""Prints how many seconds a shuffle of Dask's takes: `shuffle.py SCHEDULER MEGABYTES`.

The rows are random, on every worker alike, and each is sent to the worker that its key chooses.
"""

import sys
import time

import dask
import dask.dataframe
import numpy
import pandas
from distributed import Client, wait

ROWS = 250_000
COLUMNS = 8


def part(seed):
    random = numpy.random.default_rng(seed)
    columns = {f"c{n}": random.random(ROWS) for n in range(COLUMNS - 1)}
    return pandas.DataFrame({"key": random.integers(0, 1 << 30, ROWS)} | columns)


def main(scheduler, megabytes):
    parts = int(megabytes) * 1_000_000 // (ROWS * COLUMNS * 8)
    # The network is measured, and not the disk.
    dask.config.set({"distributed.p2p.storage.disk": False})
    with Client(scheduler) as client:
        client.wait_for_workers(2)
        frame = dask.dataframe.from_map(part, range(parts)).persist()
        wait(frame)
        begin = time.perf_counter()
        shuffled = frame.shuffle("key", npartitions=parts).persist()
        wait(shuffled)
        took = time.perf_counter() - begin
        rows = len(shuffled)
    assert rows == parts * ROWS, f"{rows} rows of {parts * ROWS}"
    return took


if __name__ == "__main__":
    print(f"{main(*sys.argv[1:3]):.3f}")
