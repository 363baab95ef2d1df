"""Runs a module of tests, and prints a line with the result of each test: `suite.py test.test_socket`
for one of CPython's own, `suite.py distributed.tests.test_core` for one of pytest's.

A test that takes longer than LIMIT seconds is printed as a hang, and the rest run in a new process.
What the tests print goes to standard error."""

import faulthandler
import os
import subprocess
import sys
import tempfile
import unittest

LIMIT = 60


class Lines(unittest.TestResult):
    """Appends a line when a test begins, and when it has ended."""

    def __init__(self, path, done):
        super().__init__()
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND)
        self.done = done
        self.worst = None
        # Tests fork, and a child that fails must not tell of it as if it were the whole.
        self.process = os.getpid()

    def tell(self, what, name):
        if os.getpid() == self.process:
            os.write(self.file, f"{what} {name}\n".encode())

    def begin(self, name):
        self.worst = None
        self.tell("begun", name)
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)

    def end(self, name):
        faulthandler.cancel_dump_traceback_later()
        self.tell(self.worst or "ok", name)

    def startTest(self, test):
        super().startTest(test)
        if test.id() not in self.done:
            self.begin(test.id())

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        if test.id() not in self.done:
            self.end(test.id())
        super().stopTest(test)

    def note(self, what, test, error=None):
        if error is not None:
            print(f"{what} {test.id()}: {self._exc_info_to_string(error, test)}", file=sys.stderr, flush=True)
        if isinstance(test, unittest.suite._ErrorHolder):
            self.tell(what, test.id())
        else:
            self.worst = what

    def addError(self, test, err):
        self.note("error", test, err)

    def addFailure(self, test, err):
        self.note("failed", test, err)

    def addSkip(self, test, reason):
        if isinstance(test, unittest.suite._ErrorHolder):
            self.tell("skipped", test.id())
        else:
            self.worst = self.worst or "skipped"

    def addExpectedFailure(self, test, err):
        self.worst = "expected"

    def addUnexpectedSuccess(self, test):
        self.worst = "unexpected"

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.worst = "failed"
            print(f"failed {subtest.id()}: {err[1]!r}", file=sys.stderr, flush=True)


class Reports:
    """Has pytest tell the same of its tests."""

    def __init__(self, module, lines):
        self.module = module
        self.lines = lines

    def name(self, nodeid):
        return self.module + nodeid[nodeid.index("::"):]

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if self.name(item.nodeid) not in self.lines.done]

    def pytest_runtest_logstart(self, nodeid):
        self.lines.begin(self.name(nodeid))

    def pytest_runtest_logreport(self, report):
        if report.outcome != "passed":
            self.lines.worst = report.outcome

    def pytest_runtest_logfinish(self, nodeid):
        self.lines.end(self.name(nodeid))


def pick(suite, done):
    """The tests that are still to run, in their order."""
    picked = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            part = pick(test, done)
            if part.countTestCases():
                picked.addTest(part)
        elif test.id() not in done:
            picked.addTest(test)
    return picked


def run(module, path):
    faulthandler.enable()
    done = {line.split(" ", 1)[1].rstrip("\n") for line in open(path)}
    lines = Lines(path, done)
    if not module.startswith("test."):
        import pytest

        # Its fixtures are what the package's own configuration would load.
        words = ["--pyargs", module, "-p", "distributed.utils_test", "-p", "no:cacheprovider", "-m", "not slow"]
        status = pytest.main(words, plugins=[Reports(module, lines)])
        return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) else int(status)
    from test import support

    # What needs the internet, a display or much time is skipped.
    support.use_resources = ["network"] if module == "test.test_socketserver" else []
    support.verbose = 0
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    pick(suite, done).run(lines)
    return 0


def main():
    if len(sys.argv) > 2:
        return run(sys.argv[1], sys.argv[2])
    module = sys.argv[1]
    with tempfile.NamedTemporaryFile("r+") as file:
        while True:
            # A group of its own, so that what a hung test has started ends with it.
            child = subprocess.Popen(
                [sys.executable, __file__, module, file.name], stdout=sys.stderr, stdin=subprocess.DEVNULL
            )
            status = child.wait()
            lines = open(file.name).read().splitlines()
            if status == 0 or not lines or not lines[-1].startswith("begun "):
                break
            with open(file.name, "a") as more:
                more.write(f"{'hung' if status == 1 else 'crashed'} {lines[-1].split(' ', 1)[1]}\n")
        results = [line for line in open(file.name).read().splitlines() if not line.startswith("begun ")]
    print("\n".join(sorted(results)))
    if status != 0:
        print(f"ended with status {status}")


# Tests start this file anew in their child processes.
if __name__ == "__main__":
    sys.exit(main())
