import asyncio
import errno
import os

import pytest

import parmaprp
import parmaprp.asyncio


def runners():
    yield "default", asyncio.run
    yield "own", parmaprp.asyncio.run
    try:
        import uvloop
    except ImportError:
        return
    yield "uvloop", uvloop.run


RUNNERS = dict(runners())


@pytest.fixture(params=RUNNERS)
def run(request):
    return RUNNERS[request.param]


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def ask(address, text):
    reader, writer = await parmaprp.asyncio.open_connection(address)
    writer.write(text)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_streams(run):
    async def main():
        server = await parmaprp.asyncio.start_server(echo, "self:0")
        texts = [bytes([n]) * size for n, size in enumerate((1, 1000, 3_000_000, 10))]
        answers = await asyncio.gather(*(ask(server.address, text) for text in texts))
        assert answers == texts
        server.close()
        await server.wait_closed()

    run(main())


class Failing(asyncio.Protocol):
    def connection_made(self, transport):
        transport.write(bytes(16_000_000))

    def eof_received(self):
        raise ValueError("a mistake of the protocol")


def test_a_protocol_that_fails_resets_the_connection(run):
    async def main():
        server = await parmaprp.asyncio.create_server(Failing, "self:0")
        reader, writer = await parmaprp.asyncio.open_connection(server.address)
        writer.write_eof()
        # What was written is not there as a whole.
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        server.close()
        await server.wait_closed()

    run(main())


def test_many_streams(run):
    async def main():
        server = await parmaprp.asyncio.start_server(echo, "self:0")
        answers = await asyncio.gather(*(ask(server.address, b"%d" % n) for n in range(150)))
        assert answers == [b"%d" % n for n in range(150)]
        server.close()
        await server.wait_closed()

    run(main())


def test_beside_callbacks_without_end(run):
    async def main():
        loop = asyncio.get_running_loop()
        server = await parmaprp.asyncio.start_server(echo, "self:0")

        def again():
            nonlocal callback
            callback = loop.call_soon(again)

        callback = loop.call_soon(again)
        reads, writes = os.pipe()
        read = loop.create_future()
        loop.add_reader(reads, lambda: read.done() or read.set_result(os.read(reads, 9)))
        asked = ask(server.address, b"a" * 300_000)
        assert await asyncio.wait_for(asked, 30) == b"a" * 300_000
        os.write(writes, b"b")
        assert await asyncio.wait_for(read, 30) == b"b"
        callback.cancel()
        loop.remove_reader(reads)
        os.close(reads)
        os.close(writes)
        server.close()
        await server.wait_closed()

    run(main())


def test_protocols(run):
    class Collector(asyncio.BufferedProtocol):
        def __init__(self):
            self.room = bytearray(1000)
            self.data = b""
            self.ended = asyncio.get_running_loop().create_future()

        def connection_made(self, transport):
            self.transport = transport

        def get_buffer(self, _hint):
            return self.room

        def buffer_updated(self, size):
            self.data += self.room[:size]

        def connection_lost(self, error):
            self.ended.set_result(error)

    async def main():
        protocols = []

        def factory():
            protocols.append(Collector())
            return protocols[-1]

        server = await parmaprp.asyncio.create_server(factory, "self:0")
        transport, _ = await parmaprp.asyncio.create_connection(asyncio.Protocol, server.address)
        assert transport.get_extra_info("peername") == server.address
        transport.write(b"x" * 100_000)
        transport.close()
        while not protocols:
            await asyncio.sleep(0)
        assert await protocols[0].ended is None
        assert protocols[0].data == b"x" * 100_000
        server.close()
        await server.wait_closed()

    run(main())


def test_pause_of_a_writer(run):
    async def main():
        go = asyncio.Event()

        async def slow(reader, writer):
            await go.wait()
            size = 0
            while data := await reader.read(1 << 20):
                size += len(data)
            writer.write(b"%d" % size)
            writer.close()

        server = await parmaprp.asyncio.start_server(slow, "self:0")
        reader, writer = await parmaprp.asyncio.open_connection(server.address)
        writer.write(bytes(16 << 20))
        drain = asyncio.ensure_future(writer.drain())
        done, _ = await asyncio.wait([drain], timeout=0.05)
        assert not done
        go.set()
        await drain
        writer.write_eof()
        assert await reader.read() == b"%d" % (16 << 20)
        writer.close()
        server.close()
        await server.wait_closed()

    run(main())


def test_limits_that_the_buffer_is_over_already(run):
    class Writer(asyncio.Protocol):
        paused = False

        def pause_writing(self):
            self.paused = True

        def resume_writing(self):
            self.paused = False

    async def main():
        with parmaprp.Listener("self:0") as listener:
            transport, protocol = await parmaprp.asyncio.create_connection(
                Writer, listener.getsockname()
            )
            transport.set_write_buffer_limits(1 << 30)
            transport.write(bytes(16 << 20))
            assert transport.get_write_buffer_size() > 0 and not protocol.paused
            transport.set_write_buffer_limits(0)
            assert protocol.paused
            transport.abort()

    run(main())


def test_errors(run):
    async def main():
        with pytest.raises(ConnectionRefusedError) as raised:
            await parmaprp.asyncio.open_connection("self:1")
        assert raised.value.errno == errno.ECONNREFUSED
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await parmaprp.asyncio.open_connection("silent:80")
        server = await parmaprp.asyncio.start_server(echo, "self:0")
        reader, writer = await parmaprp.asyncio.open_connection(server.address)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        writer.transport.abort()
        server.close()
        await server.wait_closed()

    run(main())


def test_sockets(run):
    async def main():
        listener = parmaprp.Listener("self:0")
        listener.setblocking(False)
        accepting = asyncio.ensure_future(parmaprp.asyncio.sock_accept(listener))
        client = await parmaprp.asyncio.sock_connect(listener.getsockname())
        server = await accepting
        data = bytes(5_000_000)
        room = bytearray(len(data))

        async def receive():
            view = memoryview(room)
            while len(view):
                view = view[await parmaprp.asyncio.sock_recv_into(server, view) :]

        await asyncio.gather(parmaprp.asyncio.sock_sendall(client, data), receive())
        assert room == data
        for each in (client, server, listener):
            each.close()

    run(main())
