"""Draws the time of a message one way by its size, over PRP and over TCP.

`latency_curve.py serve HOST` answers on port 7010 of both; `latency_curve.py NODE HOST FILE.svg`
measures and draws. NODE is a node of prphosts, HOST an IP address of the same machine.
"""

import socket
import statistics
import sys
import threading
import time

import parmaprp

PORT = 7010
SIZES = [2**n for n in range(4, 18)]
ROUNDS = 200


def receive_exactly(stream, view):
    while len(view):
        size = stream.recv_into(view)
        if size == 0:
            return False
        view = view[size:]
    return True


def answer(stream):
    room = memoryview(bytearray(max(SIZES)))
    head = memoryview(bytearray(4))
    with stream:
        while receive_exactly(stream, head):
            message = room[: int.from_bytes(head, "little")]
            if not receive_exactly(stream, message):
                break
            stream.sendall(message)


def serve(host):
    listener = socket.create_server((host, PORT))
    threading.Thread(target=accept_all, args=(lambda: listener.accept()[0],), daemon=True).start()
    own = parmaprp.Listener(f"self:{PORT}")
    accept_all(lambda: own.accept()[0])


def accept_all(accept):
    while True:
        threading.Thread(target=answer, args=(accept(),), daemon=True).start()


def measure(stream):
    medians = []
    for size in SIZES:
        message = size.to_bytes(4, "little") + bytes(size)
        room = memoryview(bytearray(size))
        times = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            stream.sendall(message)
            receive_exactly(stream, room)
            times.append((time.perf_counter() - begin) / 2)
        medians.append(statistics.median(times) * 1e6)
    return medians


def main(node, host, path):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with parmaprp.connect((node, PORT)) as stream:
        pyplot.loglog(SIZES, measure(stream), label="PRP", marker="o")
    with socket.create_connection((host, PORT)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pyplot.loglog(SIZES, measure(stream), label="TCP", marker="s")
    pyplot.xlabel("bytes of a message")
    pyplot.ylabel("us one way, median")
    pyplot.legend()
    pyplot.grid(True, which="both", alpha=0.3)
    pyplot.savefig(path)


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    main(*sys.argv[1:4])
