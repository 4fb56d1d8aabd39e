package org.snowfence;

import static org.snowfence.SnowfenceException.Kind.CLOSED;
import static org.snowfence.SnowfenceException.Kind.FENCED;
import static org.snowfence.SnowfenceException.unreachable;

import java.math.BigInteger;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps one node: a thread acquires it, renews it and gives it back.
 *
 * <p>The lock guards all fields. The calls to the server are made without it, by the thread alone, so
 * one is under way at a time. Times without a unit are in ns of System.nanoTime.
 */
final class Lease {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1_000_000_000;
    private static final Clock CLOCK = Clock.systemUTC(); // made before a test mocks Instant.now

    final ReentrantLock lock = new ReentrantLock();
    final Condition changed = lock.newCondition(); // for callers who wait for a grant
    final Stamps stamps;
    SnowfenceException trouble; // of the last call, until one succeeds
    private final Condition work = lock.newCondition(); // for the thread
    private final String namespace;
    private final Server server;
    private final Tickets tickets; // of the thread alone
    private Thread thread;
    private boolean closed;
    long alive; // when this process ran last, as far as it noticed
    long aliveWall; // the same in ms since 1970: this clock goes on while the machine sleeps
    private long stood; // when it noticed that it had stood still: a renewal must be sent later than that
    private long renewed; // when the last call that succeeded was sent
    private long due; // when the next call is made
    private long third; // of the ttl
    private int failures;

    Lease(Options options) {
        namespace = options.namespace;
        server = new Server(options.server, options.token);
        tickets = new Tickets(options, server);
        stamps = new Stamps(options.lead);
        third = (options.ttl == null ? Duration.ofSeconds(15) : options.ttl).toNanos() / 3;
    }

    /** Starts the thread, unless it runs already. The caller has the lock. */
    void start() {
        if (thread == null && !closed) {
            due = alive = stood = renewed = System.nanoTime();
            aliveWall = System.currentTimeMillis();
            Thread t = new Thread(this::run, "snowfence");
            t.setDaemon(true);
            t.start();
            thread = t; // only now: a start that fails is tried again
        }
    }

    /** Begins the next run of numbers, if there is one now. The caller has the lock. */
    boolean advance() {
        if (closed) {
            throw new SnowfenceException(CLOSED, "the generator is closed: open another one");
        }
        look();
        if (stamps.layout != null && !doubted() && stamps.advance(now())) {
            stamps.run.fresh = Math.min(startOf(stamps.run.tick + 1), aliveWall + third / MS);
            return true;
        }
        if (failures == 0 && missing() != null && System.nanoTime() - renewed >= third / 10) {
            hurry(); // the grant is used up before the next renewal
        }
        return false;
    }

    /** Returns when the clock allows the next ID, in ns from now. The caller has the lock. */
    long untilNext() {
        return Math.max((startOf(stamps.next(-1) - stamps.lead) - System.currentTimeMillis()) * MS, MS / 10);
    }

    /** Says why there is no grant to stamp IDs of; null if only the clock must go on. The caller has the lock. */
    SnowfenceException missing() {
        if (stamps.layout != null && !doubted() && stamps.next(now()) < stamps.until) {
            return null;
        }
        return new SnowfenceException(FENCED, "no node of namespace '" + namespace + "' is held now: "
            + (trouble == null ? "the answer of " + server.address + " is awaited" : trouble.getMessage()));
    }

    /** Returns the tick of the clock. */
    private long now() {
        if (stamps.layout.tick % MS == 0) {
            return stamps.layout.tickAt(System.currentTimeMillis() * MS); // tests mock Instant
        }
        Instant now = CLOCK.instant();
        return stamps.layout.tickAt(now.getEpochSecond() * SECOND + now.getNano());
    }

    /** Returns when a tick starts, in ms since 1970, rounded down. */
    private long startOf(long tick) {
        BigInteger most = BigInteger.valueOf(Long.MAX_VALUE / MS / 2);
        return stamps.layout.start(tick).divide(BigInteger.valueOf(MS)).min(most).longValue();
    }

    private boolean doubted() {
        return renewed - stood < 0;
    }

    /** Notices that the process stood still for a third of the ttl. The thread looks more often than that. */
    private void look() {
        long now = System.nanoTime(), wall = System.currentTimeMillis();
        long gap = Math.max(now - alive, (wall - aliveWall) * MS);
        alive = now;
        aliveWall = wall;
        if (gap >= third) {
            stood = now;
            stamps.settle();
            hurry();
        }
    }

    private void hurry() {
        if (due - System.nanoTime() > 0) {
            due = System.nanoTime();
            work.signal();
        }
    }

    /** Makes no ID any more from now on, and gives the node back, for at most five seconds. */
    void close() {
        Thread t;
        lock.lock();
        try {
            closed = true;
            stamps.settle();
            work.signal();
            changed.signalAll();
            t = thread;
        } finally {
            lock.unlock();
        }
        try {
            if (t != null) {
                t.join(5000);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            for (Duration limit = awaitDue(); limit != null; limit = awaitDue()) {
                step(limit);
            }
            tickets.release(used());
        } finally {
            lock.lock();
            stamps.lost();
            thread = null; // after an interrupt, the next call starts another
            lock.unlock();
        }
    }

    /** Renews the grant, or acquires one, once. Whatever is thrown, such as no memory, this thread must go on. */
    private void step(Duration limit) {
        long sent = System.nanoTime();
        boolean held = tickets.held();
        Grant g = null;
        SnowfenceException why = null;
        try {
            g = tickets.ask(limit);
        } catch (SnowfenceException e) {
            why = e;
        } catch (RuntimeException | Error e) {
            why = broken(e);
        }
        try {
            if (!answered(g, why, held, sent)) {
                tickets.release(g.from());
            }
        } catch (RuntimeException | Error e) {
            tickets.leave();
            answered(null, broken(e), false, sent);
        }
    }

    private SnowfenceException broken(Throwable e) {
        return unreachable("no answer from " + server.address + ": " + e, true);
    }

    /** Takes a grant, or why there is none, and returns whether a grant is kept. */
    private boolean answered(Grant g, SnowfenceException why, boolean held, long sent) {
        lock.lock();
        try {
            if (g != null) {
                return granted(g, held, sent);
            }
            refused(why, held);
            return true;
        } finally {
            lock.unlock();
        }
    }

    private long used() {
        lock.lock();
        try {
            stamps.lost();
            return stamps.used();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a call is due, and returns how long it may take; null after a close. */
    private Duration awaitDue() {
        lock.lock();
        try {
            for (long left; !closed && (left = due - System.nanoTime()) > 0;) {
                work.awaitNanos(Math.min(left, third / 4));
                look();
            }
            // A call that hangs must not look like a process that stands still.
            return closed ? null : Duration.ofNanos(stamps.until > 0 ? third * 3 / 4 : 5 * SECOND);
        } catch (InterruptedException e) {
            return null; // somebody ends all threads
        } finally {
            lock.unlock();
        }
    }

    /** Takes a grant, and returns whether it is kept. The caller has the lock. */
    private boolean granted(Grant g, boolean held, long sent) {
        if (held && !g.layout().toString().equals(stamps.layout.toString())) {
            seal("the layout of the namespace was changed"); // ticks of another layout are other times
            return true;
        }
        String wrong = held ? "" : unfit(g, System.nanoTime() - sent);
        if (!wrong.isEmpty()) {
            stamps.lost();
            failed(new SnowfenceException(FENCED, wrong));
            return false;
        }
        stamps.grant(g.layout(), g.node(), g.from(), g.until());
        tickets.healed();
        trouble = null;
        failures = 0;
        renewed = sent;
        third = g.renewAfter();
        due = doubted() ? sent : sent + (long) (third * ThreadLocalRandom.current().nextDouble(0.9, 1));
        changed.signalAll();
        return true;
    }

    /** Says why no IDs can be made of a new grant, or "". */
    private String unfit(Grant g, long took) {
        if (!g.layout().cipher.isEmpty()) {
            return "its layout is encrypted, and this client makes plain IDs only: ask the server for its IDs";
        }
        long off = 0; // how far the clocks are apart at least, in s
        if (g.now() != null) {
            long ahead = (g.now().toEpochMilli() - System.currentTimeMillis()) / 1000;
            off = Math.max(ahead, -ahead - took / SECOND);
        }
        return off <= 3 * g.renewAfter() / SECOND ? "" : "the clocks of this machine and of " + server.address + " are "
            + off + " s apart: set them right";
    }

    /** Goes on after an answer that is no grant, or none at all. The caller has the lock. */
    private void refused(SnowfenceException why, boolean held) {
        if (held && why.lost()) {
            seal(why.getMessage());
        } else if (held && why.elsewhere()) { // the grant goes on to its end, beside a new lease
            tickets.leave();
            due = System.nanoTime();
        } else {
            failed(why);
        }
    }

    /** Ends a lost lease at once, and begins another. The caller has the lock. */
    private void seal(String why) {
        stamps.lost();
        tickets.lost();
        trouble = new SnowfenceException(FENCED, "node " + tickets.node() + " was lost: " + why);
        due = System.nanoTime();
    }

    private void failed(SnowfenceException why) {
        trouble = why;
        long wait = Math.min(Math.min(20 * MS << Math.min(failures++, 8), SECOND), third / 3);
        due = System.nanoTime() + (long) (wait * ThreadLocalRandom.current().nextDouble(0.5, 1));
        changed.signalAll();
    }
}
