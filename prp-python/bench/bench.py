"""`bench.py serve HOST` answers; `bench.py WHAT NODE HOST SECONDS` prints a figure.

latency_prp, latency_tcp   us one way, 64 bytes, default waits, median
goodput_prp                Gbit/s, NumPy arrays of 8 MiB
asyncio_prp, asyncio_tcp   requests a second, one after another, by asyncio's streams
"""

import asyncio
import socket
import statistics
import sys
import threading
import time

import parmaprp
import parmaprp.asyncio

ECHO, SINK, TASKS = 7021, 7022, 7023
SIZE = 64
ARRAY = 8 << 20


def receive(stream, view):
    while len(view):
        size = stream.recv_into(view)
        if size == 0:
            return False
        view = view[size:]
    return True


def echo(stream):
    room = memoryview(bytearray(SIZE))
    while receive(stream, room):
        stream.sendall(room)


def sink(stream):
    room = memoryview(bytearray(ARRAY))
    while receive(stream, room):
        pass
    stream.sendall(b"!")


def accept(listener, work):
    while True:
        stream, _ = listener.accept()
        if isinstance(stream, socket.socket):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=work, args=(stream,), daemon=True).start()


async def answer(reader, writer):
    try:
        while True:
            writer.write(await reader.readexactly(SIZE))
    except asyncio.IncompleteReadError:
        writer.close()


def serve(host):
    for listener, work in [
        (parmaprp.Listener(("self", ECHO)), echo),
        (parmaprp.Listener(("self", SINK)), sink),
        (socket.create_server((host, ECHO)), echo),
    ]:
        threading.Thread(target=accept, args=(listener, work), daemon=True).start()

    async def tcp():
        async with await asyncio.start_server(answer, host, TASKS) as server:
            await server.serve_forever()

    async def prp():
        server = await parmaprp.asyncio.start_server(answer, ("self", TASKS))
        print("listening", flush=True)
        await server.serve_forever()

    threading.Thread(target=asyncio.run, args=(tcp(),), daemon=True).start()
    parmaprp.asyncio.run(prp())


def latency(stream, seconds):
    room = memoryview(bytearray(SIZE))
    times, end = [], time.perf_counter() + seconds
    begin = time.perf_counter()
    while begin < end:
        stream.sendall(room)
        receive(stream, room)
        done = time.perf_counter()
        times.append((done - begin) / 2)
        begin = done
    return statistics.median(times) * 1e6


def goodput(stream, seconds):
    import numpy

    array = numpy.zeros(ARRAY // 8)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        stream.sendall(array)
        count += 1
    stream.shutdown(parmaprp.SHUT_WR)
    receive(stream, memoryview(bytearray(1)))
    return count * ARRAY * 8 / (time.perf_counter() - begin) / 1e9


async def requests(connection, seconds):
    reader, writer = await connection
    message, count, begin = bytes(SIZE), 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        writer.write(message)
        await reader.readexactly(SIZE)
        count += 1
    writer.close()
    return count / (time.perf_counter() - begin)


def main(what, node, host, seconds):
    seconds = float(seconds)
    if what == "latency_prp":
        return latency(parmaprp.connect((node, ECHO)), seconds)
    if what == "latency_tcp":
        stream = socket.create_connection((host, ECHO))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return latency(stream, seconds)
    if what == "goodput_prp":
        return goodput(parmaprp.connect((node, SINK)), seconds)
    if what == "asyncio_prp":
        connection = parmaprp.asyncio.open_connection((node, TASKS))
        return parmaprp.asyncio.run(requests(connection, seconds))
    return asyncio.run(requests(asyncio.open_connection(host, TASKS), seconds))


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    print(f"{main(*sys.argv[1:5]):.3f}")
