"""One thread, many connections: an echo server on port 7003. Ask it by `prp cat NODE 7003`."""

import selectors

import parmaprp

selector = selectors.DefaultSelector()
listener = parmaprp.Listener("self:7003")
listener.setblocking(False)
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _events in selector.select():
        if key.fileobj is listener:
            stream, _peer = listener.accept()
            selector.register(stream, selectors.EVENT_READ)
            continue
        stream = key.fileobj
        data = stream.recv(4096)
        if data:
            stream.sendall(data)
        else:
            selector.unregister(stream)
            stream.close()
