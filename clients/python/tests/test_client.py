"""Tests over a real server: SNOWFENCE_SERVER=http://127.0.0.1:8080 python3 -m unittest tests.test_client"""

import asyncio
import contextlib
import copy
import datetime
import gc
import json
import multiprocessing
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.request

import snowfence
from snowfence.testing import Kit

SERVER = os.environ["SNOWFENCE_SERVER"]
WAIT = 60.0  # ends a hang, on any machine


def rest(method, path, body=None):
    r = urllib.request.Request(SERVER + path, None if body is None else json.dumps(body).encode(),
                               {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(r, timeout=WAIT) as answer:
        return json.load(answer)


def open_(**more):
    return snowfence.open(max_wait=WAIT, **more)


def node_of(ids):
    return ids.decode(next(ids)).node


def held(node):
    return [lease for lease in rest("GET", f"/v1/default/leases?node={node}&held=true").get("leases", [])]


def in_child(work):
    """Runs work in a forked child, and returns what it returned, as JSON."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            text = json.dumps(work())
        except BaseException as e:
            text = json.dumps(repr(e))
        with os.fdopen(write, "w") as f:
            f.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def in_worker(queue):
    with open_() as ids:
        queue.put(ids.take(1000))


class Arguments(unittest.TestCase):
    def test_parameters_are_named(self):
        for name, wrong in (("server", 5), ("token", 5), ("token", "two\nlines"), ("namespace", ""), ("namespace", None),
                            ("label", 5), ("within", 3), ("within", {"node": "3"}), ("within", {"node": -1}), ("ttl", "5"),
                            ("ttl", 0), ("ttl", float("nan")), ("lead", -5), ("lead", 1.5), ("max_wait", "x"),
                            ("max_wait", -1), ("namespce", "shop")):
            with self.assertRaisesRegex((TypeError, ValueError), name) as e:
                snowfence.Generator(**{name: wrong})
            self.assertNotIn("lines", str(e.exception))  # of a secret
        for wrong in ("3", 10**9, -1, 1.5, True, None):
            for take in Kit().take, snowfence.Sequence("bills").take:
                with self.assertRaisesRegex((TypeError, ValueError), "n is .*1,000,000"):
                    take(wrong)
        for call in (lambda: snowfence.format("5"), lambda: snowfence.parse(5), lambda: snowfence.decode("5"),
                     lambda: snowfence.decode(5, 5), lambda: snowfence.Sequence(5), lambda: snowfence.format(5, 5),
                     lambda: snowfence.Sequence("bills", timeout=-1), lambda: snowfence.format(5, prefix=5)):
            with self.assertRaisesRegex((TypeError, ValueError), ": give "):
                call()

    def test_a_call_has_one_deadline(self):
        spent, found = [], [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))] * 2

        def spend(s, what):  # the first address and the answer use up their time
            late = len(spent) in (0, 4)
            spent.append(s.gettimeout() / (1 if late else 4))
            time.sleep(spent[-1])
            if late:
                raise socket.timeout

        with contextlib.ExitStack() as patches:
            patches.enter_context(unittest.mock.patch("socket.getaddrinfo", return_value=found))
            for call in "connect", "sendall", "recv_into":
                patches.enter_context(unittest.mock.patch("socket.socket." + call, spend))
            with self.assertRaises(snowfence.NoAnswerError) as e:
                next(snowfence.Sequence("bills", "http://ids", timeout=0.4))
        self.assertEqual((len(spent), e.exception.sent), (5, True))
        self.assertLessEqual(spent[0], 0.2)  # the second address has as much
        self.assertLessEqual(sum(spent), 0.41)

    def test_no_password_is_shown(self):
        for address in ("http://app:hunter2@ids", "http://:hunter2@ids", "http://a@hunter2@ids", "http://a:1/hunter2@ids",
                        "http:/:hunter2@ids", "http://:hunter2@ids\n", "http://:hunter2@[ids", "http://:hunter2@\u2100"):
            with self.assertRaises((snowfence.Error, ValueError)) as e:
                snowfence.Generator(address)
            self.assertNotIn("hunter2", repr(e.exception))

    def test_own_names(self):
        others = {n for n in vars(snowfence) if n[0] != "_"} - set(snowfence.__all__)
        self.assertTrue(all(getattr(snowfence, n).__name__ == "snowfence." + n for n in others), others)

    def test_layouts_have_names(self):
        self.assertEqual(snowfence.decode(1541815603606036480, "bwmarrin").node, 378)


class Kits(unittest.TestCase):
    def test_tags_and_scatter(self):
        kit = Kit(1, "scatter=2,tag=3,time=41,node=8,seq=4")
        made = kit.take(40)
        for wrong in 8, -1, "3", 1.5, None:
            with self.assertRaisesRegex((TypeError, ValueError), "tag is .*: give 0 to 7, which its 3 bits hold"):
                kit.next_for(wrong)
        made += [kit.next_for(7), asyncio.run(kit.next_for_async(5))] + kit.take(22)
        parts = [kit.decode(id) for id in made]
        self.assertEqual([p.fields["tag"] for p in parts], [0] * 40 + [7, 5] + [0] * 22)
        self.assertEqual({p.tick for p in parts}, {parts[0].tick})  # no ID was used up
        self.assertEqual([p.sequence for p in parts], [i % 16 for i in range(64)])
        self.assertEqual(sorted({p.fields["scatter"] for p in parts[::16]}), [0, 1, 2, 3])
        t = parts[0].time
        ranges = list(kit.layout.ranges(t, t + datetime.timedelta(milliseconds=1), {"tag": 7}))
        self.assertEqual(([low <= made[40] < high for low, high in ranges].count(True), len(ranges)), (1, 4))
        self.assertRaisesRegex(snowfence.Error, "no field tag", Kit().next_for, 0)

    def test_faults(self):
        kit = Kit(seed=1)
        first, many = next(kit), kit.take(100_000)
        self.assertEqual(many, sorted(set(many)))
        self.assertLess(first, many[0])
        self.assertEqual(next(Kit(1)), first)
        self.assertNotEqual(next(Kit(2)), first)
        kit.lose_lease()
        self.assertRaises(snowfence.FencedError, next, kit)
        kit.restore()
        self.assertGreater(next(kit), many[-1])
        kit.store_unreachable()
        kit.advance(10)
        next(kit)
        kit.advance(10)
        self.assertRaises(snowfence.FencedError, kit.take, 1)
        kit.restore()
        last = next(kit)
        kit.sequence_full()
        self.assertRaises(snowfence.ExhaustedError, next, kit)
        kit.advance(0.001)
        kit.step(-1)
        self.assertGreater(next(kit), last)
        kit.step(-3600)
        self.assertRaises(snowfence.ExhaustedError, next, kit)
        kit.advance(3660)
        self.assertLess(abs((kit.decode(asyncio.run(kit.next_async())).time - kit.now).total_seconds()), 1)
        kit.close()
        self.assertRaises(snowfence.ClosedError, next, kit)


class Frozen(unittest.TestCase):
    """A test that froze the clock waited five seconds for an ID, and then got an error that blamed the clock."""

    def test_ids_come(self):
        stands = {name: (lambda value=getattr(time, name)(): value)
                  for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")}

        async def later():
            async with await snowfence.open_async(max_wait=WAIT) as more:
                return await more.take_async(10_000)

        with open_() as ids, contextlib.ExitStack() as frozen:
            for name, stand in stands.items():
                frozen.enter_context(unittest.mock.patch(f"time.{name}", stand))
            made = [next(ids) for _ in range(10_000)] + ids.take(10_000) + asyncio.run(later())
        self.assertEqual(len(set(made)), 30_000)


class Client(unittest.TestCase):
    def unique(self, ids, least):
        self.assertGreaterEqual(len(ids), least)
        self.assertEqual(len(set(ids)), len(ids))

    def test_threads(self):
        lists = [[] for _ in range(4)]
        with open_() as ids:
            def make(to):
                for i in range(5000):
                    to.append(next(ids))
                    if i % 100 == 0:
                        to.extend(ids.take(i % 7))

            threads = [threading.Thread(target=make, args=(to,)) for to in lists]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        for to in lists:
            self.assertTrue(all(a < b for a, b in zip(to, to[1:])))
        self.unique([i for to in lists for i in to], 20000)

    def test_many_at_once(self):
        with open_() as ids:
            made = ids.take(100000)
            self.assertEqual(sorted(made), made)
            self.unique(made, 100000)
            self.assertEqual(ids.take(0), [])
            self.assertRaises(ValueError, ids.take, -1)
            now = ids.decode(next(ids)).time.timestamp()
            self.assertLess(abs(now - time.time()), WAIT)

    def test_copies(self):
        with open_() as ids:
            for call in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "open one in each"):
                    call(ids)

    def test_forks(self):
        with open_() as ids:
            made, node = [next(ids) for _ in range(20)], node_of(ids)
            there = in_child(lambda: [next(ids) for _ in range(20)] + ids.take(100))
            self.unique(made + there + [next(ids) for _ in range(20)], 160)
            self.assertNotEqual(ids.decode(there[0]).node, node)
            # the child gives back what it has, and not the node of the parent
            self.assertIsNone(in_child(ids.close))
            self.assertTrue(held(node))
            self.assertEqual(node_of(ids), node)
            queue = multiprocessing.get_context("spawn").Queue()
            worker = multiprocessing.get_context("spawn").Process(target=in_worker, args=(queue,))
            worker.start()
            made += queue.get(timeout=WAIT)
            worker.join()
            self.unique(made, 1020)

    def test_copies_of_a_machine(self):
        call, sent = snowfence.server.Server.call, []

        def calls(*args):
            sent.append(args[2])
            return call(*args)

        with unittest.mock.patch("secrets.token_bytes", bytes), \
                unittest.mock.patch("snowfence.server.Server.call", calls), open_(), open_():
            pass
        self.assertIn("used", sent[-1])
        attempts = [body["attempt"] for body in sent if "attempt" in body]
        self.unique(attempts, 2)
        for a in attempts:
            self.assertRegex(a, "^[A-Za-z0-9_-]{16,32}$")

    def test_a_sleep_needs_a_renewal(self):
        with open_() as ids:
            for clock, gap in (("_alive", 100), ("_alive_wall", 5 * 10 ** 9)):
                next(ids)
                lease, ticket = ids._lease, ids._lease._ticket
                with lease.lock:
                    ids._fresh = 0.0
                    setattr(lease, clock, getattr(lease, clock) - gap)
                    self.assertEqual(lease.take(1), [])
                    self.assertEqual(lease.ahead, [])
                next(ids)
                self.assertNotEqual(lease._ticket, ticket)

    def test_no_thread_or_memory(self):
        call, troubles, sent = snowfence.server.Server.call, iter([MemoryError()]), []

        def calls(*args):
            sent.append(args[2])
            for e in troubles:
                raise e
            return call(*args)

        with snowfence.Generator(max_wait=WAIT) as ids:
            with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError):
                self.assertRaises(RuntimeError, next, ids)
            with unittest.mock.patch("snowfence.server.Server.call", calls):
                next(ids)
                ids.close()
        self.assertNotIn("used", sent[-1])  # a copy may have the first answer

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "needs signals")
    def test_stopped(self):
        code = "import snowfence, sys\nids = snowfence.open(ttl=3, max_wait=60)\nprint(ids.decode(next(ids)).node)\n" \
               "for line in sys.stdin: print(next(ids), flush=True)"
        p = subprocess.Popen([sys.executable, "-uc", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        node, made = int(p.stdout.readline()), []
        for _ in range(2):
            p.send_signal(signal.SIGSTOP)
            end = time.monotonic() + WAIT
            while held(node) and time.monotonic() < end:
                time.sleep(0.1)
            with open_(ttl=3) as other:
                made += other.take(1000)
            p.send_signal(signal.SIGCONT)
            p.stdin.write("next\n")
            p.stdin.flush()
            made.append(int(p.stdout.readline()))
            node = snowfence.decode(made[-1]).node
        p.communicate()
        self.unique(made, 2002)

    def test_lost(self):
        with open_(ttl=6) as ids:
            node, made = node_of(ids), ids.take(1000)
            rest("DELETE", f"/v1/default/leases/{node}")
            end = time.monotonic() + WAIT
            while node_of(ids) == node and time.monotonic() < end:
                made.append(next(ids))
            self.assertNotEqual(node_of(ids), node)
            self.unique(made + ids.take(1000), 2000)

    def test_closes(self):
        ids = open_()
        node = node_of(ids)
        self.assertTrue(held(node))
        ids.close()
        ids.close()
        self.assertFalse(held(node))
        self.assertRaises(snowfence.ClosedError, next, ids)
        self.assertRaises(snowfence.ClosedError, ids.take, 1)
        ids = open_()
        node = node_of(ids)
        del ids
        gc.collect()
        self.assertFalse(held(node))
        code = "import snowfence; ids = snowfence.open(max_wait=60); print(ids.decode(next(ids)).node)"
        self.assertFalse(held(int(subprocess.check_output([sys.executable, "-c", code]))))

    def test_asyncio(self):
        async def make(ids, to):
            for _ in range(500):
                to.append(await ids.next_async())
            to.extend(await ids.take_async(5000))

        async def main():
            async with await snowfence.open_async(max_wait=WAIT) as ids:
                lists = [[] for _ in range(10)]
                await asyncio.gather(*(make(ids, to) for to in lists))
                async for id in ids:
                    lists[0].append(id)
                    break
                for to in lists:
                    self.assertEqual(sorted(to), to)
                return [id for to in lists for id in to]

        self.unique(asyncio.run(main()), 55001)

    @unittest.skipUnless(hasattr(signal, "setitimer"), "needs timers")
    def test_signals(self):
        made, refused = [], []
        with open_(lead=10000) as ids:
            def handle(number, frame):
                try:
                    made.append(next(ids))
                except snowfence.Error as e:
                    refused.append(str(e))

            before = signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
            own, end = [], time.monotonic() + WAIT
            while len(made) < 200 and time.monotonic() < end:
                own.append(next(ids))
                own += ids.take(random.randrange(3))
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertTrue(all("handler" in text for text in refused), refused)
        self.assertTrue(all(a < b for a, b in zip(own, own[1:])))
        self.unique(own + made, 400)

    def test_errors(self):
        ids = snowfence.Generator("http://127.0.0.1:1", max_wait=0.01)
        with self.assertRaisesRegex(snowfence.FencedError, "127.0.0.1:1.*check the address"):
            while True:  # the first answers may come later than that
                try:
                    next(ids)
                except snowfence.FencedError as e:
                    if "awaited" not in str(e):
                        raise
        with self.assertRaises(snowfence.ServerError) as e:
            open_(namespace="missing")
        self.assertEqual((e.exception.reason, e.exception.status), ("no-namespace", 404))
        for address in ("127.0.0.1:8080", "ftp://x", "unix:relative", "http://", "http://h:port"):
            with self.assertRaisesRegex(snowfence.Error, "no address"):
                snowfence.Generator(address)
        with open_() as ids, self.assertRaises(snowfence.ExhaustedError):
            ids._max_wait = 0.0
            while True:
                ids.take(1000)

    def test_sequences(self):
        name = f"python{random.randrange(1 << 40)}"
        rest("PUT", f"/v1/{name}/sequence", {"start": "5", "step": "2"})
        rest("PUT", f"/v1/{name}-bills/sequence", {"pattern": "RE-{year}-{n:6}"})
        numbers = snowfence.Sequence(name, timeout=WAIT)
        self.assertEqual((next(numbers), numbers.take(3), numbers.serial()), (5, range(7, 13, 2), "13"))
        self.assertEqual(in_child(lambda: next(numbers)), 15)
        self.assertRegex(snowfence.Sequence(name + "-bills", timeout=WAIT).serial(), r"RE-20\d\d-000001")
        self.assertRaises(ValueError, numbers.take, 0)
        with self.assertRaises(snowfence.ServerError) as e:
            next(snowfence.Sequence("missing", timeout=WAIT))
        self.assertEqual(e.exception.status, 404)

    @unittest.skipUnless(hasattr(socket, "AF_UNIX"), "needs Unix sockets")
    def test_unix(self):
        host, port = SERVER.rpartition("/")[2].split(":")
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            path = folder + "/ids.sock"
            listener.bind(path)
            listener.listen()

            def forward(a, b):
                while data := a.recv(1 << 16):
                    b.sendall(data)
                b.shutdown(socket.SHUT_WR)

            def accept():
                with contextlib.suppress(OSError):  # the end of the test
                    while True:
                        with listener.accept()[0] as a, socket.create_connection((host, int(port))) as b:
                            threading.Thread(target=forward, args=(a, b), daemon=True).start()
                            forward(b, a)

            threading.Thread(target=accept, daemon=True).start()
            with snowfence.open("unix:" + path, max_wait=WAIT) as ids:
                self.unique(ids.take(1000), 1000)


if __name__ == "__main__":
    unittest.main()
