"""`messages.py` answers each message with its length; `messages.py NODE WORD...` sends each word."""

import sys

import parmaprp

if len(sys.argv) > 1:
    with parmaprp.connect((sys.argv[1], 7001)) as stream:
        for word in sys.argv[2:]:
            stream.send_message(word.encode())
            print(f"{word}: {stream.recv_message().decode()}")
else:
    for stream in parmaprp.Listener("self:7001"):
        with stream:
            while (message := stream.recv_message()) is not None:
                stream.send_message(b"%d bytes" % len(message))
