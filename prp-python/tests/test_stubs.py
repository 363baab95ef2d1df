"""The stubs against what they describe; mypy.stubtest compares the rest."""

import ast
from pathlib import Path

import pytest

import parmaprp
from parmaprp import _native


@pytest.mark.parametrize("name", ["connect", "Listener"])
def test_options(name):
    stub = ast.parse(Path(parmaprp.__file__).with_name("_native.pyi").read_text())
    (function,) = [
        node
        for top in stub.body
        if getattr(top, "name", None) == name
        for node in ast.walk(top)
        if isinstance(node, ast.FunctionDef) and node.name in (name, "__new__")
    ]
    options = {argument.arg for argument in function.args.kwonlyargs} - {"blocking"}
    assert options == set(_native.options())
