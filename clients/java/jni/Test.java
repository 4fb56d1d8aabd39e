import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.snowfence.Generator;
import org.snowfence.SnowfenceException;

/** Checks the package: java Test STORE VECTORS. Prints "ok". */
public final class Test {
    public static void main(String[] args) throws Exception {
        vectors(Path.of(args[1]));
        arguments();
        Generator ids = Generator.open(args[0], null, "lead=2000,label=java-\u00e9\ud83d\ude00");
        threads(ids);
        ids.next();
        ids.close();
        ids.close();
        for (int i = 0; i < 20; i++) {
            expect(5, "closed", ids::next);
        }
        expect(5, "closed", () -> ids.take(1));
        garbage();
        System.out.println("ok");
    }

    private static void expect(int status, String text, Runnable call) {
        try {
            call.run();
        } catch (SnowfenceException e) {
            if (e.status() != status || !e.getMessage().contains(text)) {
                throw e;
            }
            return;
        }
        throw new AssertionError("no exception about " + text);
    }

    private static void refused(Runnable call) {
        try {
            call.run();
        } catch (IllegalArgumentException e) {
            return;
        }
        throw new AssertionError("an argument was taken");
    }

    private static void vectors(Path path) throws Exception {
        for (String line : Files.readAllLines(path)) {
            String[] v = line.split("\t");
            Generator.Parts p = Generator.decode(Long.parseLong(v[1]), v[0]);
            long[] got = {p.tick(), p.node(), p.sequence(), p.rollback()};
            for (int i = 0; i < got.length; i++) {
                if (!v[i + 2].equals("-") && Long.parseLong(v[i + 2]) != got[i]) {
                    throw new AssertionError(line + " " + p);
                }
            }
        }
        if (Generator.parse(Generator.format(1L << 62, "base58"), "base58") != 1L << 62) {
            throw new AssertionError("base58");
        }
    }

    private static void arguments() {
        expect(4, "leed", () -> Generator.open("mem:", null, "leed=1"));
        expect(4, "\u00fc\ud83d\ude00", () -> Generator.parse("\u00fc\ud83d\ude00", null));
        expect(4, "NULL", () -> Generator.parse(null, null));
        refused(() -> Generator.open("mem:\0"));
        try (Generator ids = Generator.openStatic(9, null, null)) {
            expect(8, "9", () -> Generator.openStatic(9, null, null));
            refused(() -> ids.take(-1));
            if (ids.take(0).length != 0) {
                throw new AssertionError();
            }
        }
        Generator.openStatic(9, null, null).close();
    }

    private static void threads(Generator ids) throws Exception {
        List<long[]> lists = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long[] own = new long[50_000];
            lists.add(own);
            Thread t = new Thread(() -> {
                for (int k = 0; k < own.length;) {
                    if (k % 1000 == 0) {
                        long[] some = ids.take(k / 1000 % 7);
                        System.arraycopy(some, 0, own, k, some.length);
                        k += some.length;
                    }
                    own[k++] = ids.next();
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) {
            t.join();
        }
        Set<Long> all = new HashSet<>();
        for (long[] list : lists) {
            for (int k = 0; k < list.length; k++) {
                all.add(list[k]);
                if (k > 0 && list[k] <= list[k - 1]) {
                    throw new AssertionError("the IDs of a thread do not increase");
                }
            }
        }
        if (all.size() != 400_000 || ids.decode(lists.get(0)[0]).node() != ids.decode(lists.get(7)[49_999]).node()) {
            throw new AssertionError(all.size() + " IDs");
        }
    }

    /** A thread that lives on kept every generator that it had used. */
    private static void garbage() throws InterruptedException {
        var seen = new java.lang.ref.WeakReference<Generator>(used());
        for (int i = 0; i < 3000 && seen.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        if (seen.get() != null) {
            throw new AssertionError("a closed generator is not garbage");
        }
    }

    private static Generator used() {
        Generator ids = Generator.openStatic(3, null, null);
        ids.next();
        ids.close();
        return ids;
    }
}
