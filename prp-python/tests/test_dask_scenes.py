"""Dask's own tests of comms, over prp://.

Dask publishes them in its repository only: PRP_DASK_TESTS names a checkout's file
distributed/comm/tests/test_comms.py.
"""

import asyncio
import importlib.util
import os
from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed")
PATH = os.environ.get("PRP_DASK_TESTS")
if not PATH:
    pytest.skip("PRP_DASK_TESTS names no test_comms.py of Dask", allow_module_level=True)

import distributed.utils_test  # noqa: E402

import parmaprp.asyncio  # noqa: E402

# The package lacks the certificates, too.
certificates = Path(PATH).parent.parent.parent / "tests"
distributed.utils_test.get_cert = lambda name: str(certificates / name)
spec = importlib.util.spec_from_file_location("dask_scenes", PATH)
scenes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenes)

SCENES = {
    "client_server": lambda: scenes.check_client_server("prp://self", is_ours, is_ours),
    "client_server_port": lambda: scenes.check_client_server("prp://self:3221", is_ours, is_ours),
    "client_server_any": lambda: scenes.check_client_server("prp://", is_ours, is_ours),
    "comm_closed_implicit": lambda: scenes.check_comm_closed_implicit("prp://self"),
    "comm_closed_explicit": lambda: scenes.check_comm_closed_explicit("prp://self"),
    "connect_timeout": lambda: scenes.check_connect_timeout("prp://self:44444"),
    "many_listeners": lambda: scenes.check_many_listeners("prp://self"),
    "deserialize": lambda: scenes.check_deserialize("prp://self"),
    "deserialize_roundtrip": lambda: scenes.check_deserialize_roundtrip("prp://self"),
    "deserialize_eoferror": lambda: scenes.check_deserialize_eoferror("prp://self"),
}


def is_ours(address):
    return address.startswith("prp://1:")


@pytest.fixture(params=["default", "own"])
def run(request):
    return asyncio.run if request.param == "default" else parmaprp.asyncio.run


@pytest.mark.parametrize("name", SCENES)
def test_scene(run, name):
    async def main():
        await SCENES[name]()

    run(main())


@pytest.mark.parametrize("name", ["check_repr", "check_addresses"])
def test_pair(run, name):
    async def main():
        a, b = await scenes.get_comm_pair("prp://self")
        await getattr(scenes, name)(a, b)
        await a.close()
        await b.close()

    run(main())
