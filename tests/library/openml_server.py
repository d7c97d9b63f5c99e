"""A loopback server that answers like OpenML, and an opener that sends OpenML's addresses to it."""

import hashlib
import json
import re
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Table:
    """A data set of the server: numeric columns, and one column of classes."""

    def __init__(self, columns, rows, labels, target="class", numeric_target=False, default=None):
        self.columns, self.target, self.numeric_target = list(columns), target, numeric_target
        self.default_target = default or target
        kinds = ["NUMERIC"] * len(columns)
        names = sorted(set(labels))
        kinds.append("NUMERIC" if numeric_target else "{" + ",".join(f"'{n}'" for n in names) + "}")
        header = [f"@ATTRIBUTE '{c}' {k}" for c, k in zip([*self.columns, target], kinds)]
        cells = [["?" if v != v else repr(float(v)) for v in row] for row in rows]
        quote = "{}" if numeric_target else "'{}'"
        lines = [",".join([*c, quote.format(t)]) for c, t in zip(cells, labels)]
        self.arff = "\n".join(["@RELATION loopback", *header, "@DATA", *lines, ""]).encode()
        self.n = len(lines)

    def answer(self, part, data_id):
        """The JSON that OpenML gives for `part`."""
        if part == "features":
            rows = [*((c, "numeric") for c in self.columns)]
            rows.append((self.target, "numeric" if self.numeric_target else "nominal"))
            features = [
                {
                    "index": str(i),
                    "name": name,
                    "data_type": kind,
                    "is_target": str(name == self.default_target).lower(),
                    "is_ignore": "false",
                    "is_row_identifier": "false",
                    "number_of_missing_values": "0",
                }
                for i, (name, kind) in enumerate(rows)
            ]
            return {"data_features": {"feature": features}}
        if part == "qualities":
            quality = [{"name": "NumberOfInstances", "value": str(float(self.n))}]
            return {"data_qualities": {"quality": quality}}
        return {
            "data_set_description": {
                "id": str(data_id),
                "name": "loopback",
                "version": "1",
                "description": "served by a test",
                "format": "ARFF",
                "status": "active",
                "file_id": str(data_id),
                "default_target_attribute": self.default_target,
                "url": f"https://www.openml.org/data/v1/download/{data_id}/loopback.arff",
                "md5_checksum": hashlib.md5(self.arff).hexdigest(),
            }
        }


class _ToLoopback(urllib.request.BaseHandler):
    """Opens https addresses at the loopback server: urllib's public way to redirect a library."""

    handler_order = 100  # before the ordinary handler

    def __init__(self, port):
        self.port = port

    def https_open(self, request):
        return self.parent.open(f"http://127.0.0.1:{self.port}{request.selector}")


@contextmanager
def openml(tables):
    """Serve {data_id: Table}; yields the list of paths that were asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            api = re.match(r"/api/v1/json/data/(?:(features|qualities)/)?(\d+)/?$", self.path)
            file = re.match(r"/data/v1/download/(\d+)", self.path)
            data_id = int((api and api[2]) or (file and file[1]) or -1)
            table = tables.get(data_id)
            body = b"{}"
            if table is not None:
                body = table.arff if file else json.dumps(table.answer(api[1], data_id)).encode()
            self.send_response(404 if table is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), _ToLoopback(server.server_port)
    )
    urllib.request.install_opener(opener)
    try:
        yield asked
    finally:
        urllib.request.install_opener(None)
        server.shutdown()
        server.server_close()
        thread.join()
