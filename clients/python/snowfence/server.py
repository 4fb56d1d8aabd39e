"""Calls to a server: POSTs of JSON over HTTP, HTTPS or a Unix socket."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import socket
import time
from functools import partial
from typing import Any, Dict, Optional, Tuple
from urllib.parse import urlsplit

from .errors import Error, NoAnswerError, ServerError, check_text


_clock = partial(time.monotonic)  # tests freeze the name of module time


def _left(end: float) -> float:
    return max(end - _clock(), 0.001)


def _connect(to: Tuple[str, int], timeout: float, *more: Any) -> socket.socket:
    """Connects as socket.create_connection does, but all addresses of a name share the time."""
    end, found = _clock() + timeout, socket.getaddrinfo(*to, 0, socket.SOCK_STREAM)
    while True:
        family, kind, protocol, _, address = found.pop(0)
        try:
            s = socket.socket(family, kind, protocol)
            try:
                s.settimeout(_left(end) / (len(found) + 1))
                s.connect(address)
                s.settimeout(_left(end))
                return s
            except BaseException:
                s.close()
                raise
        except OSError:
            if not found:
                raise


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """The server at an address, such as http://127.0.0.1:8080, https://ids.example or unix:/run/snowfence.sock.

    Each call has a connection of its own, so threads may share a Server, and a forked process may go on with it.
    """

    def __init__(self, address: str, token: Optional[str] = None) -> None:
        self.address = address
        try:
            url = urlsplit(address)
            self._kind, self._host, self._port, self._path = url.scheme, url.hostname or "", url.port, url.path
            good = self._path.startswith("/") and not url.netloc if self._kind == "unix" else \
                self._kind in ("http", "https") and self._host and not url.query and "@" not in address
        except ValueError:
            good = False
        if not good:  # what is before an @ may be a password
            shown = re.sub("(?s)^.*@", "…@", address)
            raise Error(f"{shown!r} is no address of a server, such as http://127.0.0.1:8080 or unix:/run/ids.sock")
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = "Bearer " + token

    def call(self, method: str, body: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        """Calls a method such as "LeaseService/Acquire". It raises ServerError or NoAnswerError."""
        c: http.client.HTTPConnection
        if self._kind == "unix":
            c, base = _UnixConnection(self._path, timeout), ""
        else:
            kind = http.client.HTTPSConnection if self._kind == "https" else http.client.HTTPConnection
            c, base = kind(self._host, self._port, timeout=timeout), self._path.rstrip("/")
            setattr(c, "_create_connection", _connect)
        end, sent = _clock() + timeout, False
        try:
            c.connect()
            sent = True
            c.sock.settimeout(_left(end))
            c.request("POST", f"{base}/snowfence.v1.{method}", json.dumps(body), self._headers)
            c.sock.settimeout(_left(end))
            r = c.getresponse()
            status, data = r.status, r.read()
        except (OSError, http.client.HTTPException, ValueError) as e:  # ValueError: a name that is no host
            raise NoAnswerError(f"no answer from {self.address}: {e or type(e).__name__}: "
                                "check the address, and that the server runs", sent) from e
        finally:
            c.close()
        return _read(self.address, status, data)


def server_of(address: Optional[str], token: Optional[str]) -> Server:
    """Returns the server of an address and a token; SNOWFENCE_SERVER and SNOWFENCE_TOKEN stand in for both."""
    if address is None or address == "":
        address = os.environ.get("SNOWFENCE_SERVER") or "http://127.0.0.1:8080"
    if token in (None, ""):
        token = os.environ.get("SNOWFENCE_TOKEN", "")
    check_text("server", address, "a text such as 'http://127.0.0.1:8080'")
    check_text("token", token, "the token as a text, in one line", empty=True)
    return Server(address, token)


def _read(address: str, status: int, data: bytes) -> Dict[str, Any]:
    answer: Any = None
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):  # also of text that is not UTF-8
        pass
    if status == 200 and isinstance(answer, dict):
        return answer
    if status == 200 or status < 400:
        raise NoAnswerError(f"{address} answers, but not as a Snowfence server does (status {status}): "
                            "check the address")
    text = answer.get("message") if isinstance(answer, dict) else None
    raise ServerError(status, _reason(answer), f"{address}: {text or 'status ' + str(status)}")


def _reason(answer: Any) -> str:
    """Returns the reason of a google.rpc.ErrorInfo among the details of an error, or nothing."""
    details = answer.get("details") if isinstance(answer, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and detail.get("type") == "google.rpc.ErrorInfo":
            try:
                value = base64.b64decode(str(detail.get("value")) + "==")
                return value[2:2 + value[1]].decode() if value[0] == 0x0A else ""  # field 1, a text
            except (ValueError, IndexError):
                return ""
    return ""
