"""A proxy on loopback that breaks some of the connections to a server of S3."""

import contextlib
import random
import socket
import struct
import threading
import time
from collections import Counter

FAULTS = ("reset", "503", "slow", "cut")
_CHUNK = 1 << 16
_MOST_BYTES = 20_000
_SLOW_SECONDS = 0.2
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>slow down</Message></Error>"
_REFUSAL = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_SLOW_DOWN), _SLOW_DOWN)
)


class Proxy:
    """Passes bytes on between clients and a server; a share of the connections gets a fault.

    `reset` resets the connection at once, `503` answers so, `slow` waits before each chunk, `cut` resets the connection
    after some bytes of the client, as in the middle of an upload.

    Args:
        url: of the server.
        share: the share of connections with a fault.
        seed: of the faults.

    Attributes:
        url: of the proxy.
        faults: fault -> connections that had it.
        received: bytes that the server sent.
    """

    def __init__(self, url, share, seed):
        host, _, port = url.removeprefix("http://").partition(":")
        self._server, self._share, self._generator = (host, int(port)), share, random.Random(seed)
        self.faults = Counter()
        self.received = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Takes no further connection."""
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                fault = self._generator.choice(FAULTS) if self._generator.random() < self._share else ""
                threading.Thread(target=self._serve, args=(client, fault), daemon=True).start()

    def _serve(self, client, fault):
        if fault:
            self.faults[fault] += 1
        with contextlib.suppress(OSError), client:
            if fault == "reset":
                _reset(client)
                return
            if fault == "503":
                client.recv(_CHUNK)
                client.sendall(_REFUSAL)
                return
            limit = self._generator.randrange(_MOST_BYTES) if fault == "cut" else None
            with socket.create_connection(self._server) as server:
                back = threading.Thread(target=self._pass_back, args=(server, client), daemon=True)
                back.start()
                count = 0
                while chunk := client.recv(_CHUNK):
                    if fault == "slow":
                        time.sleep(_SLOW_SECONDS)
                    count += len(chunk)
                    if limit is not None and count > limit:
                        server.sendall(chunk[: len(chunk) // 2])
                        _reset(client)
                        return
                    server.sendall(chunk)

    def _pass_back(self, server, client):
        with contextlib.suppress(OSError):
            while chunk := server.recv(_CHUNK):
                self.received += len(chunk)
                client.sendall(chunk)
            client.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def proxy(url, share=0.0, seed=0):
    """A proxy in front of a server."""
    place = Proxy(url, share, seed)
    try:
        yield place
    finally:
        place.close()


def _reset(client):
    """Closes a connection with a reset instead of an end."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
