"""Runs moto's server of S3: `python -m tests.plugins.remote_roots.s3.moto_server PORT`.

moto checks the condition of a put and stores the object in two steps, so requests with a body are answered one after
the other: then a conditional put is atomic, as it is on S3.
"""

import io
import sys
import threading


def main():
    """Serves until the process is killed."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    run_simple("127.0.0.1", int(sys.argv[1]), _OneByOne(DomainDispatcherApplication(create_backend_app)), threaded=True)


class _OneByOne:
    """Reads the whole body of a request first, then passes it on under a lock."""

    def __init__(self, application):
        self._application, self._lock = application, threading.Lock()

    def __call__(self, environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length:
            body = environ["wsgi.input"].read(length)
            if len(body) < length:
                start_response("400 Bad Request", [])
                return [b""]
            environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return [b"".join(self._application(environ, start_response))]


if __name__ == "__main__":
    main()
