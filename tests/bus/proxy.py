"""A TCP proxy between a worker and the bus, so that a test can take the connection away from under both."""

import socket
import threading


class Proxy:
    def __init__(self, target):
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            self._pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass  # cut() closed one of them

    def cut(self, engine_too):
        """Ends all connections of workers; the engine notices only when told."""
        pairs, self._pairs = self._pairs, []
        for client, server in pairs:
            client.shutdown(socket.SHUT_RDWR)
            if engine_too:
                server.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()
        self.cut(engine_too=True)
