"""An echo server, or a client of it with many connections at a time, by one of several event loops:
`echo.py LOOP serve PORT`, or `echo.py LOOP call PORT HOST`."""

import hashlib
import sys

CONNECTIONS, SIZE = 50, 100_000


def data(number):
    return hashlib.sha256(b"%d" % number).digest() * (SIZE // 32)


def tell(right):
    print(f"{sum(right)} of {CONNECTIONS} are right", flush=True)


def by_asyncio(what, port, host, run=None):
    import asyncio

    async def echo(reader, writer):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
        writer.close()

    async def serve():
        server = await asyncio.start_server(echo, "0.0.0.0", port, backlog=256)
        await server.serve_forever()

    async def one(number):
        reader, writer = await asyncio.open_connection(host, port)

        async def send():
            writer.write(data(number))
            await writer.drain()
            writer.write_eof()

        _, got = await asyncio.gather(send(), reader.read())
        writer.close()
        return got == data(number)

    async def call():
        tell(await asyncio.gather(*(one(number) for number in range(CONNECTIONS))))

    (run or asyncio.run)(serve() if what == "serve" else call())


def by_uvloop(what, port, host):
    import uvloop

    by_asyncio(what, port, host, uvloop.run)


def by_gevent(what, port, host):
    import gevent
    from gevent import socket
    from gevent.server import StreamServer

    def echo(connection, _):
        while part := connection.recv(65536):
            connection.sendall(part)
        connection.close()

    def one(number):
        with socket.create_connection((host, port)) as connection:

            def send():
                connection.sendall(data(number))
                connection.shutdown(socket.SHUT_WR)

            sending = gevent.spawn(send)
            got = b"".join(iter(lambda: connection.recv(65536), b""))
            sending.join()
            return got == data(number)

    if what == "serve":
        StreamServer(("0.0.0.0", port), echo, backlog=256).serve_forever()
    else:
        jobs = [gevent.spawn(one, number) for number in range(CONNECTIONS)]
        gevent.joinall(jobs)
        tell(job.value for job in jobs)


def by_tornado(what, port, host):
    import asyncio

    from tornado.iostream import StreamClosedError
    from tornado.tcpclient import TCPClient
    from tornado.tcpserver import TCPServer

    class Echo(TCPServer):
        async def handle_stream(self, stream, address):
            try:
                while True:
                    await stream.write(await stream.read_bytes(65536, partial=True))
            except StreamClosedError:
                pass

    async def one(number):
        stream = await TCPClient().connect(host, port)
        sending = asyncio.ensure_future(stream.write(data(number)))
        got = await stream.read_bytes(len(data(number)))
        await sending
        stream.close()
        return got == data(number)

    async def main():
        if what == "serve":
            Echo().listen(port, "0.0.0.0")
            await asyncio.Event().wait()
        else:
            tell(await asyncio.gather(*(one(number) for number in range(CONNECTIONS))))

    asyncio.run(main())


def by_twisted(what, port, host):
    from twisted.internet import endpoints, protocol, reactor

    right = []

    class Echo(protocol.Protocol):
        def dataReceived(self, part):
            self.transport.write(part)

    class Client(protocol.Protocol):
        def connectionMade(self):
            self.number, self.got = len(numbers), b""
            numbers.append(self.number)
            self.transport.write(data(self.number))

        def dataReceived(self, part):
            self.got += part
            if len(self.got) == len(data(self.number)):
                self.transport.loseConnection()

        def connectionLost(self, reason):
            right.append(self.got == data(self.number))
            if len(right) == CONNECTIONS:
                tell(right)
                reactor.stop()

    numbers = []
    if what == "serve":
        reactor.listenTCP(port, protocol.Factory.forProtocol(Echo), backlog=256)
    else:
        for _ in range(CONNECTIONS):
            endpoint = endpoints.TCP4ClientEndpoint(reactor, host, port)
            endpoint.connect(protocol.Factory.forProtocol(Client))
    reactor.run()


_, loop, what, port, *rest = sys.argv
globals()["by_" + loop](what, int(port), *(rest or [None]))
