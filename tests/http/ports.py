"""A port for tests that come back to it: `view` itself takes the next free one from 8471 on, and so do the tests beside."""
import os
import socket


def own_port():
    """Below those that the kernel deals out, another one for each process."""
    for i in range(100):
        port = 20000 + (os.getpid() + 101 * i) % 12000
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("a hundred ports are taken")
