"""HTTP by hand: bytes over a socket, for requests that no client would send."""

import socket

SECONDS = 20  # a server that neither answers nor closes within this has hung


class Raw:
    """One connection to the gateway."""

    def __init__(self, engine):
        self.socket = socket.create_connection(("127.0.0.1", engine.port), timeout=SECONDS)
        self.buffer = b""

    def send(self, data):
        """Sends what the server takes: one that has closed already has made up its mind."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self

    def done_sending(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return self

    def response(self):
        """The next response as (status, headers with small names, body); None when the connection ended instead."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        status = int(lines[0].split()[1])
        length = 0 if status in (100, 204) else int(headers.get("content-length", 0))
        while len(self.buffer) < length:
            if not self._more():
                break
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return status, headers, body

    def rest(self):
        """Everything until the server closes."""
        while self._more():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self.buffer += data
        return bool(data)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def exchange(engine, data):
    """Sends one request and gives all responses until the server has nothing more to say."""
    with Raw(engine) as raw:
        raw.send(data).done_sending()
        responses = []
        while (response := raw.response()) is not None:
            responses.append(response)
        return responses
