"""Runs a module of CPython's own tests, and prints a line with the result of each test:
`suite.py test.test_socket`.

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

    def tell(self, what, test):
        if os.getpid() == self.process:
            os.write(self.file, f"{what} {test.id()}\n".encode())

    def startTest(self, test):
        super().startTest(test)
        if test.id() in self.done:
            return
        self.worst = None
        self.tell("begun", test)
        faulthandler.dump_traceback_later(LIMIT, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        if test.id() not in self.done:
            self.tell(self.worst or "ok", test)
        super().stopTest(test)

    def note(self, what, test, error=None):
        if error is not None:
            print(f"{what} {test.id()}: {self._exc_info_to_string(error, test)}", file=sys.stderr, flush=True)
        if isinstance(test, unittest.suite._ErrorHolder):
            self.tell(what, test)
        else:
            self.worst = what

    def addError(self, test, err):
        self.note("error", test, err)

    def addFailure(self, test, err):
        self.note("failed", test, err)

    def addSkip(self, test, reason):
        if isinstance(test, unittest.suite._ErrorHolder):
            self.tell("skipped", test)
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
    from test import support

    # What needs the internet, a display or much time is skipped.
    support.use_resources = ["network"] if module == "test.test_socketserver" else []
    support.verbose = 0
    faulthandler.enable()
    done = {line.split(" ", 1)[1].rstrip("\n") for line in open(path)}
    suite = unittest.defaultTestLoader.loadTestsFromName(module)
    pick(suite, done).run(Lines(path, done))


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
    main()
