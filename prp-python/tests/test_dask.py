import asyncio
import importlib.metadata

import pytest

numpy = pytest.importorskip("numpy")
distributed = pytest.importorskip("distributed")

from distributed.comm import CommClosedError, connect, listen  # noqa: E402
from distributed.protocol import to_serialize  # noqa: E402

import parmaprp.asyncio  # noqa: E402
from parmaprp.dask import PRPBackend  # noqa: E402


@pytest.fixture(autouse=True, params=["default", "own"])
def run(request):
    return asyncio.run if request.param == "default" else parmaprp.asyncio.run


def test_entry_point():
    points = importlib.metadata.entry_points(group="distributed.comm.backends", name="prp")
    assert [point.load() for point in points] == [PRPBackend]


def test_messages_and_arrays(run):
    async def echo(comm):
        try:
            while True:
                message = await comm.read()
                message["data"] = to_serialize(message["data"])
                await comm.write(message)
        except CommClosedError:
            pass

    async def main():
        async with listen("prp://self:0", echo) as listener:
            comm = await connect(listener.contact_address)
            array = numpy.arange(1_000_000, dtype=numpy.float64)
            for data in (array, b"", "text", array[:10]):
                await comm.write({"op": "echo", "data": to_serialize(data)})
                answer = await comm.read()
                assert numpy.array_equal(answer["data"], data)
            assert comm.peer_address == listener.contact_address
            await comm.close()
            assert comm.closed()
            with pytest.raises(CommClosedError):
                await comm.write({})

    run(main())


def test_end_of_the_peer(run):
    async def leave(comm):
        await comm.close()

    async def main():
        async with listen("prp://self:0", leave) as listener:
            address = listener.contact_address
            comm = await connect(address)
            with pytest.raises(CommClosedError):
                await comm.read()
            assert comm.closed()
        with pytest.raises(OSError):
            await connect(address, timeout=0.5)

    run(main())


def test_cluster(run):
    async def main():
        scheduler = distributed.Scheduler(
            protocol="prp", host="self", port=0, dashboard=False, dashboard_address=":0"
        )
        async with scheduler:
            assert scheduler.address.startswith("prp://")
            workers = [distributed.Worker(scheduler.address, nthreads=1) for _ in range(2)]
            async with workers[0], workers[1]:
                async with distributed.Client(scheduler.address, asynchronous=True) as client:
                    parts = client.map(lambda n: numpy.full(100_000, n), range(8))
                    total = client.submit(lambda all: sum(part.sum() for part in all), parts)
                    assert await total == 100_000 * sum(range(8))

    run(main())
