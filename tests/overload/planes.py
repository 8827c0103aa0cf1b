# SPDX-License-Identifier: Apache-2.0
"""What the lab loads. Policy planes take a set time for each request; product planes are what a
JetStream server is asked in an outage."""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "bench"))
import overload  # noqa: E402
from servers import BenchError, Client, Server, loadgen  # noqa: E402

SLOTS = 16
INSIDE_S = 600  # of the responder, longer than any run


class Endpoint(overload.SluicePlane):
    """The endpoint of a set cost that the test binary has."""

    column = "Sluice: endpoint"
    slots = overload.WORKERS - 1  # one is kept for the levels above
    bare = None  # its own capacity is what counts


class BareService(overload.PlainService):
    """The service without a gate: what it can do."""

    slots = SLOTS


class Gate(BareService):
    """The same service behind a gate of Sluice's."""

    column = "Sluice: gate"

    def __init__(self, binary):
        super().__init__(binary)
        self.bare = BareService(binary)

    @contextlib.contextmanager
    def serve(self, limit, _seconds):
        conf = (f'gates {{ service {{ subject: "{self.subject}", limit: {SLOTS}, '
                f"request_queue_limit: {limit} }} }}\n")
        with Server(self.binary, conf, monitor=True) as s, \
                overload.service(s, self.subject, SLOTS, INSIDE_S):
            yield s

    def books(self, server):
        return server.view("apiz")["gates"][0]["counters"]


class Service(BareService):
    """The same service through nats-server, which has nothing to put in front of it."""

    column = "nats-server: service"
    bare = None


class Product:
    """What $JS.API answers, on either server."""

    sleeps = False

    def __init__(self, name, binary, ours, quick):
        self.subject, self.payload, streams = PRODUCTS[name]
        self.streams = streams // 10 + 1 if quick else streams
        self.binary, self.ours = binary, ours
        self.column = "Sluice" if ours else "nats-server"

    @contextlib.contextmanager
    def serve(self, limit):
        # The same keys in both: the limits of the API's queue.
        conf = ("jetstream { store_dir: '@DIR@/js', max_memory_store: 1GB, "
                f"request_queue_limit: {limit}, info_queue_limit: {limit} }}\n")
        if self.ours:
            conf += f"api {{ request_queue_limit: {limit}, info_queue_limit: {limit} }}\n"
        with Server(self.binary, conf, monitor=self.ours) as s:
            overload.make_streams(s, self.streams)
            yield s

    def capacity(self, server, seconds):
        return overload.closed_loop(self, server, seconds)


PRODUCTS = {
    "STREAM.NAMES": ("$JS.API.STREAM.NAMES", '{"subject":"zz.none"}', 5000),
    "STREAM.INFO": ("$JS.API.STREAM.INFO.S0", "", 1),
    # What a client does for its durable consumer when it is back: made if it is not there.
    "CONSUMER.CREATE": ("$JS.API.CONSUMER.CREATE.S0.C",
                        '{"stream_name":"S0","config":{"name":"C","durable_name":"C",'
                        '"ack_policy":"explicit"}}', 1),
}
