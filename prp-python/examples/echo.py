"""`echo.py` answers on port 7000; `echo.py NODE TEXT` asks."""

import sys

import parmaprp

if len(sys.argv) == 3:
    with parmaprp.connect((sys.argv[1], 7000)) as stream:
        stream.sendall(sys.argv[2].encode())
        stream.shutdown(parmaprp.SHUT_WR)
        while data := stream.recv(4096):
            print(data.decode(), end="")
        print()
else:
    for stream in parmaprp.Listener("self:7000"):
        with stream:
            while data := stream.recv(4096):
                stream.sendall(data)
