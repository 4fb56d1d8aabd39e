import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.snowfence.Generator;
import org.snowfence.Options;
import org.snowfence.Sequence;
import org.snowfence.SnowfenceException;

/** Tests over a server: SNOWFENCE_SERVER=http://127.0.0.1:8080 java Test. Prints "ok". */
public final class Test {
    private static final Duration WAIT = Duration.ofMinutes(1); // ends a hang, on any machine

    public static void main(String[] args) throws Exception {
        threads();
        close();
        arguments();
        sequences();
        System.out.println("ok");
    }

    private static Options options() {
        return new Options().maxWait(WAIT);
    }

    private static void ensure(boolean ok, String text) {
        if (!ok) {
            throw new AssertionError(text);
        }
    }

    /** Returns the message of the exception that a call throws. */
    private static String refused(SnowfenceException.Kind kind, Runnable call) {
        try {
            call.run();
        } catch (SnowfenceException e) {
            ensure(e.kind() == kind, e.kind() + " " + e.getMessage());
            return e.getMessage();
        }
        throw new AssertionError("no exception " + kind);
    }

    /** Threads share a generator, one at a time and many at once. */
    private static void threads() throws Exception {
        long[][] lists = new long[8][20_000];
        try (Generator ids = Generator.open(options())) {
            Thread[] threads = new Thread[lists.length];
            for (int i = 0; i < threads.length; i++) {
                long[] own = lists[i];
                threads[i] = new Thread(() -> {
                    for (int k = 0; k < own.length;) {
                        long[] some = k % 1000 == 0 ? ids.take(7) : new long[] {ids.next()};
                        int n = Math.min(some.length, own.length - k);
                        System.arraycopy(some, 0, own, k, n);
                        k += n;
                    }
                });
                threads[i].start();
            }
            for (Thread t : threads) {
                t.join();
            }
            long node = ids.decode(lists[0][0]).node();
            ensure(node == ids.decode(ids.next()).node(), "the node changed");
        }
        Set<Long> all = new HashSet<>();
        for (long[] list : lists) {
            for (int k = 0; k < list.length; k++) {
                ensure(all.add(list[k]), list[k] + " came twice");
                ensure(k == 0 || list[k] > list[k - 1], "the IDs of a thread do not increase");
            }
        }
    }

    /** A closed generator makes nothing more, not even of the tick that it has begun. Its node is free at once. */
    private static void close() {
        Generator ids = Generator.open(options().lead(100_000));
        long node = ids.decode(ids.next()).node();
        ids.close();
        ids.close();
        refused(SnowfenceException.Kind.CLOSED, ids::next);
        refused(SnowfenceException.Kind.CLOSED, () -> ids.take(1));
        try (Generator again = Generator.open(options().within(java.util.Map.of("node", node)))) {
            ensure(again.decode(again.next()).node() == node, "within was not followed");
        }
    }

    private static void arguments() {
        refused(SnowfenceException.Kind.INVALID, () -> Generator.open("ftp://here"));
        String gone = refused(SnowfenceException.Kind.UNREACHABLE,
            () -> Generator.open(new Options().server("http://127.0.0.1:1").maxWait(Duration.ofSeconds(2))));
        ensure(gone.matches("no answer from http://127.0.0.1:1: .*: check the address, and that the server runs"), gone);
        refused(SnowfenceException.Kind.REFUSED, () -> Generator.open(options().namespace("no-such-namespace")));
        try (Generator ids = Generator.open(options())) {
            refused(SnowfenceException.Kind.INVALID, () -> ids.take(-1));
            ensure(ids.take(0).length == 0, "take(0)");
        }
    }

    private static void sequences() {
        Sequence bills = new Sequence("bills", options());
        ensure(bills.next() == 1 && bills.take(3)[2] == 4 && bills.serial().equals("5"), "bills");
        refused(SnowfenceException.Kind.REFUSED, () -> new Sequence("no-such-sequence", options()).next());
    }
}
