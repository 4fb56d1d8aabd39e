package org.snowfence;

import static org.snowfence.SnowfenceException.Kind.EXHAUSTED;
import static org.snowfence.SnowfenceException.Kind.INTERRUPTED;
import static org.snowfence.SnowfenceException.check;

/**
 * Makes 64-bit IDs that never repeat within a namespace, in the memory of this process, of a node that
 * a server leases. While no server answers, it goes on for two thirds of the ttl at least.
 *
 * <p>Threads may share it, and the IDs that one thread takes increase, with the same bits above the
 * time. A generator that is not closed keeps its node until the process ends, and its ttl is over.
 */
public sealed class Generator implements AutoCloseable permits TestKit {
    final Lease lease;
    final Stamps stamps;
    private final long maxWait; // in ns

    /** For a kit, which has no lease. */
    Generator() {
        maxWait = 0;
        lease = null;
        stamps = null;
    }

    private Generator(Options options) {
        check(options != null, "options name the server, as in new Options().server(url)");
        maxWait = options.maxWait.toNanos();
        lease = new Lease(options);
        stamps = lease.stamps;
    }

    /** Leases a node of the namespace "default" from the server at an address. */
    public static Generator open(String server) {
        return open(new Options().server(server));
    }

    /** Leases a node, and waits for it, at most for the longest wait of the options. */
    public static Generator open(Options options) {
        Generator g = new Generator(options);
        try {
            g.layout();
        } catch (RuntimeException e) {
            g.close();
            throw e;
        }
        return g;
    }

    /** Leases a node at the first ID: the program may start before its server. */
    public static Generator lazy(Options options) {
        return new Generator(options);
    }

    /** Makes an ID. It waits for the lease and for the clock, at most for the longest wait of the options. */
    public long next() {
        Stamps.Run run = stamps.run;
        if (System.currentTimeMillis() < run.fresh) {
            long place = run.take();
            if (place >= 0) {
                return run.at(place);
            }
        }
        long[] ids = new long[1];
        fill(ids);
        return ids[0];
    }

    /** Makes an ID as next does, with a number of the caller in the field tag. One that does not fit uses up no ID. */
    public long nextFor(long tag) {
        layout().checkTag(tag);
        long[] ids = new long[1];
        lease.lock.lock();
        try {
            fill(ids);
            return stamps.layout.tag(ids[0], tag); // the lock keeps the layout of the ID
        } finally {
            lease.lock.unlock();
        }
    }

    /** Makes n IDs. Those with the same bits above the time increase. It waits as next does. */
    public long[] take(int n) {
        check(n >= 0 && n <= 1_000_000, n + " IDs: n is 0 to 1,000,000");
        long[] ids = new long[n];
        fill(ids);
        return ids;
    }

    private void fill(long[] ids) {
        long end = System.nanoTime() + maxWait;
        lease.lock.lock();
        try {
            lease.start();
            for (int made = 0; made < ids.length;) {
                Stamps.Run run = stamps.run;
                if (System.currentTimeMillis() < run.fresh) {
                    made += run.take(ids, made, ids.length - made);
                }
                if (made < ids.length && !lease.advance()) {
                    pause(end);
                } else if (made < ids.length) {
                    made += stamps.run.take(ids, made, ids.length - made);
                }
            }
        } finally {
            lease.lock.unlock();
        }
    }

    /** Waits for an ID. It throws what is wrong when the longest wait is over. */
    private void pause(long end) {
        SnowfenceException missing = lease.missing();
        long left = end - System.nanoTime();
        if (left <= 0) {
            throw missing != null ? missing
                : new SnowfenceException(EXHAUSTED, "all numbers up to the clock are used, or "
                + "it stepped back: take fewer IDs at a time, or open with a lead or a longer wait");
        }
        await(missing == null ? Math.min(left, lease.untilNext()) : left);
    }

    private void await(long ns) {
        try {
            lease.changed.awaitNanos(ns);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SnowfenceException(INTERRUPTED, "interrupted while it waited for an ID");
        }
    }

    /** Returns the layout of the namespace. It waits for the lease as next does. */
    public Layout layout() {
        long end = System.nanoTime() + maxWait;
        lease.lock.lock();
        try {
            lease.start();
            while (stamps.layout == null) {
                long left = end - System.nanoTime();
                if (left <= 0 || lease.trouble != null && lease.trouble.isFinal()) {
                    throw lease.trouble != null ? lease.trouble : lease.missing();
                }
                await(left);
            }
            return stamps.layout;
        } finally {
            lease.lock.unlock();
        }
    }

    /** Takes an ID of this namespace apart. */
    public Layout.Parts decode(long id) {
        return layout().decode(id);
    }

    /** Makes no more IDs, and gives the node back, for at most five seconds. A second close does nothing. */
    @Override
    public void close() {
        lease.close();
    }
}
