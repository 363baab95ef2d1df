"""`asyncio_echo.py` answers on port 7002, a task for each connection; `asyncio_echo.py NODE TEXT`
asks."""

import sys

import parmaprp.asyncio


async def answer(reader, writer):
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()
    writer.close()


async def main():
    if len(sys.argv) == 3:
        reader, writer = await parmaprp.asyncio.open_connection((sys.argv[1], 7002))
        writer.write(sys.argv[2].encode())
        writer.write_eof()
        print((await reader.read()).decode())
        writer.close()
        return
    server = await parmaprp.asyncio.start_server(answer, "self:7002")
    await server.serve_forever()


parmaprp.asyncio.run(main())
