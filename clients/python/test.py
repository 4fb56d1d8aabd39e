"""Checks the package: python3 test.py STORE VECTORS. Prints "ok"."""

import copy
import gc
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import threading

import snowfence


def expect(kind, call):
    try:
        call()
    except kind as e:
        return str(e)
    raise AssertionError(f"no {kind.__name__}")


def in_worker(store, queue):
    with snowfence.open(store) as ids:
        queue.put(ids.take(1000))


def in_forked_worker(ids, queue):
    queue.put(expect(snowfence.ForkedError, lambda: next(ids)))


def vectors(path):
    for line in open(path):
        name, id, *fields = line.rstrip("\n").split("\t")
        p = snowfence.decode(int(id), name)
        for want, got in zip(fields, (p.tick, p.node, p.sequence, p.rollback)):
            assert want in ("-", str(got)), (line, p)
    for encoding in (None, "hex", "base58", "base32hex-fixed"):
        assert snowfence.parse(snowfence.format(1 << 62, encoding), encoding) == 1 << 62


def arguments(store):
    expect(OverflowError, lambda: snowfence.decode(1 << 64))
    expect(ValueError, lambda: snowfence.open("mem:", label="a,b"))
    expect(ValueError, lambda: snowfence.open("mem:\0"))
    assert "no-such-option" in expect(snowfence.Error, lambda: snowfence.open("mem:", no_such_option=1))
    assert "xyz" in expect(snowfence.Error, lambda: snowfence.parse("xyz"))
    expect(snowfence.Error, lambda: snowfence.Generator(0))
    expect(snowfence.Error, lambda: snowfence.Generator(12345))
    with snowfence.open("mem:", label=None, coarse=True, max_wait="1s", layout="sonyflake") as ids:
        assert ids.take(0) == []
        expect(ValueError, lambda: ids.take(-1))
        expect(TypeError, lambda: ids.take(1.5))
        expect(MemoryError, lambda: ids.take(1 << 59))
    file = pathlib.Path(store.removeprefix("sqlite:")).with_suffix(".node")
    with snowfence.open_statefile(file, 5) as ids:
        assert ids.decode(next(ids)).node == 5
        expect(snowfence.Error, lambda: snowfence.open_statefile(file, 5))


# Two objects with the same batch made the same IDs.
def copies(ids):
    next(ids)
    for call in (lambda: copy.copy(ids), lambda: copy.deepcopy(ids), lambda: pickle.dumps(ids)):
        assert "open one in each process" in expect(TypeError, call)


# Threads share a generator: no ID comes twice, and a thread's IDs increase.
def threads(ids):
    lists = [[] for _ in range(4)]

    def make(to):
        for i in range(50000):
            to.append(next(ids))
            if i % 1000 == 0:
                to.extend(ids.take(i % 7))

    all_threads = [threading.Thread(target=make, args=(to,)) for to in lists]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    for to in lists:
        assert all(a < b for a, b in zip(to, to[1:]))
    made = [i for to in lists for i in to]
    assert len(made) >= 200000 and len(set(made)) == len(made)
    assert ids.decode(made[0]).node == ids.decode(made[-1]).node
    return set(made)


# A child is told, and opens nothing. With spawn it works.
def forks(store, ids, made):
    read, write = os.pipe()
    next(ids)
    pid = os.fork()
    if pid == 0:
        texts = [expect(snowfence.ForkedError, call) for call in
                 (lambda: next(ids), lambda: ids.take(1), ids.close, lambda: snowfence.open(store))]
        os.write(write, b"ok" if all("use spawn" in t for t in texts) else repr(texts).encode())
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert os.read(read, 1000) == b"ok"
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    worker = fork.Process(target=in_forked_worker, args=(ids, queue))
    worker.start()
    assert "open in the worker, or use spawn" in queue.get(timeout=300)
    worker.join()
    spawn = multiprocessing.get_context("spawn")
    expect(TypeError, lambda: spawn.Process(target=in_forked_worker, args=(ids, None)).start())
    queue = spawn.Queue()
    worker = spawn.Process(target=in_worker, args=(store, queue))
    worker.start()
    made |= set(more := queue.get(timeout=300))
    worker.join()
    assert len(more) == 1000 and next(ids) not in made


# What is not used any more is closed, and the number is free again; also when a program ends.
def ends(store):
    number = snowfence.open_static(9)
    expect(snowfence.Error, lambda: snowfence.open_static(9))
    del number
    gc.collect()
    snowfence.open_static(9).close()
    code = "import snowfence, sys; print(next(snowfence.open(sys.argv[1], node=77, guard=True)))"
    first, second = [int(subprocess.check_output([sys.executable, "-c", code, store])) for _ in range(2)]
    assert first < second  # the node is free at once


def main(store, path):
    vectors(path)
    arguments(store)
    ids = snowfence.open(store, label="python", lead=2000)
    copies(ids)
    forks(store, ids, threads(ids))
    ends(store)
    next(ids)  # so that a batch has some left
    ids.close()
    ids.close()
    for _ in range(20):
        expect(snowfence.ClosedError, lambda: next(ids))
    expect(snowfence.ClosedError, lambda: ids.take(1))
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
