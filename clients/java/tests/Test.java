import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.snowfence.Generator;
import org.snowfence.Layout;
import org.snowfence.Options;
import org.snowfence.Sequence;
import org.snowfence.SnowfenceException;
import org.snowfence.TestKit;
import org.snowfence.Text;

/** Tests over a server: SNOWFENCE_SERVER=http://127.0.0.1:8080 java Test. Prints "ok". */
public final class Test {
    private static final Duration WAIT = Duration.ofMinutes(1); // ends a hang, on any machine

    public static void main(String[] args) throws Exception {
        threads();
        close();
        arguments();
        kit();
        fields();
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
        for (String url : new String[] {"http://app:hunter2@ids", "http://:hunter2@ids", "http://a:1/hunter2@ids\n"}) {
            String text = refused(SnowfenceException.Kind.INVALID, () -> Generator.open(url));
            ensure(!text.contains("hunter2"), text);
        }
        String gone = refused(SnowfenceException.Kind.UNREACHABLE,
            () -> Generator.open(new Options().server("http://127.0.0.1:1").maxWait(Duration.ofSeconds(2))));
        ensure(gone.matches("no answer from http://127.0.0.1:1: .*: check the address, and that the server runs"), gone);
        refused(SnowfenceException.Kind.REFUSED, () -> Generator.open(options().namespace("no-such-namespace")));
        try (Generator ids = Generator.open(options())) {
            refused(SnowfenceException.Kind.INVALID, () -> ids.take(-1));
            refused(SnowfenceException.Kind.INVALID, () -> ids.take(1_000_000_000));
            ensure(ids.take(0).length == 0, "take(0)");
        }
        for (Runnable wrong : new Runnable[] {
            () -> options().namespace(null), () -> options().namespace(""), () -> options().label(null),
            () -> options().token("two\nlines"), () -> options().within(null), () -> options().ttl(null),
            () -> options().within(java.util.Map.of("node", -1L)), () -> options().ttl(Duration.ZERO),
            () -> options().lead(-5), () -> options().maxWait(null), () -> options().maxWait(Duration.ofSeconds(-1)),
            () -> Generator.open((Options) null), () -> new Sequence(null, options()), () -> new Sequence("bills", null),
            () -> new Layout(null), () -> new Layout("no-such-layout"), () -> Text.parse(null, "hex"),
            () -> Text.format(1, null), () -> Text.parse("ord_1", "hex", null),
        }) {
            ensure(!refused(SnowfenceException.Kind.INVALID, wrong).isEmpty(), "an error without a text");
        }
        ensure(new Layout("bwmarrin").decode(1541815603606036480L).node() == 378, "bwmarrin");
    }

    /** A kit has the faults of a real generator, at once. */
    private static void kit() {
        try (TestKit kit = new TestKit(1); TestKit other = new TestKit(2)) {
            long first = kit.next();
            ensure(new TestKit(1).next() == first && other.next() != first, "the seed decides");
            long[] many = kit.take(100_000);
            ensure(many[0] > first && many[99_999] > many[99_998], "the IDs do not increase");
            kit.loseLease();
            refused(SnowfenceException.Kind.FENCED, kit::next);
            kit.restore();
            long next = kit.next();
            ensure(next > many[99_999], "an ID of before the loss");
            kit.storeUnreachable();
            kit.advance(Duration.ofSeconds(10));
            kit.next();
            kit.advance(Duration.ofSeconds(10));
            refused(SnowfenceException.Kind.FENCED, kit::next);
            kit.restore();
            kit.sequenceFull();
            refused(SnowfenceException.Kind.EXHAUSTED, kit::next);
            kit.advance(Duration.ofMillis(1));
            kit.step(Duration.ofSeconds(-1));
            ensure(kit.next() > next, "an ID after a step back");
            kit.step(Duration.ofHours(-1));
            refused(SnowfenceException.Kind.EXHAUSTED, kit::next);
            kit.advance(Duration.ofMinutes(61));
            ensure(kit.decode(kit.next()).time().isAfter(kit.now().minusSeconds(1)), "the time of the kit");
        }
        TestKit closed = new TestKit(3);
        closed.close();
        refused(SnowfenceException.Kind.CLOSED, closed::next);
    }

    /** Each turn of a kit has another scatter value, and a tag that does not fit uses up no ID. */
    private static void fields() {
        TestKit kit = new TestKit(1, "scatter=2,tag=3,time=41,node=8,seq=4");
        long[] first = kit.take(16), second = kit.take(16);
        for (long wrong : new long[] {8, -1}) {
            String text = refused(SnowfenceException.Kind.INVALID, () -> kit.nextFor(wrong));
            ensure(text.equals("tag " + wrong + ": its 3 bits hold 0 to 7"), text);
        }
        Layout.Parts a = kit.decode(first[15]), b = kit.decode(second[15]), c = kit.decode(kit.nextFor(7));
        ensure(c.fields().get("tag") == 7 && c.sequence() == 0 && c.tick() == a.tick(), c.toString());
        ensure(Set.of(a, b, c).stream().map(p -> p.fields().get("scatter")).distinct().count() == 3, "one value twice");
        refused(SnowfenceException.Kind.INVALID, () -> new TestKit(1).nextFor(0));
        try (Generator ids = Generator.open(options().namespace("tagged"))) {
            Layout.Parts before, after;
            do { // within a tick
                before = ids.decode(ids.next());
                refused(SnowfenceException.Kind.INVALID, () -> ids.nextFor(8));
                after = ids.decode(ids.nextFor(5));
            } while (before.tick() != after.tick());
            ensure(after.fields().get("tag") == 5 && after.sequence() == before.sequence() + 1, "a tag used up an ID");
        }
        try (Generator ids = Generator.open(options().namespace("spread"))) {
            Set<Long> all = new HashSet<>(), values = new HashSet<>();
            for (int i = 0; i < 1000; i++) {
                long id = i % 2 == 0 ? ids.next() : ids.take(1)[0];
                ensure(all.add(id), id + " came twice");
                values.add(ids.decode(id).fields().get("scatter"));
            }
            ensure(values.size() == 8, "values " + values);
        }
    }

    private static void sequences() {
        Sequence bills = new Sequence("bills", options());
        ensure(bills.next() == 1 && bills.take(3)[2] == 4 && bills.serial().equals("5"), "bills");
        refused(SnowfenceException.Kind.REFUSED, () -> new Sequence("no-such-sequence", options()).next());
    }
}
