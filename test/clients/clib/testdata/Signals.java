import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.snowfence.Generator;

/** Makes IDs while the JVM uses SIGSEGV: for null pointers, full stacks and safepoints. Signals SECONDS prints "ok". */
public final class Signals {
    private static volatile String none;
    private static final AtomicLong nulls = new AtomicLong();
    private static final AtomicLong overflows = new AtomicLong();
    private static volatile Throwable failed;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        Set<Long> all = new HashSet<>();
        List<long[]> lists = new ArrayList<>();
        try (Generator ids = Generator.open("mem:", null, "lead=2000")) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                long[] own = new long[300_000];
                lists.add(own);
                Thread t = new Thread(() -> storm(ids, own, end));
                t.setUncaughtExceptionHandler((thread, e) -> failed = e);
                threads.add(t);
                t.start();
            }
            while (System.nanoTime() < end && failed == null) {
                System.gc();
                Thread.sleep(1);
            }
            for (Thread t : threads) {
                t.join();
            }
        }
        if (failed != null) {
            throw new AssertionError(failed);
        }
        int n = 0;
        for (long[] list : lists) {
            for (long id : list) {
                if (id != 0) {
                    n++;
                    all.add(id);
                }
            }
        }
        if (n != all.size() || n < 4000 || nulls.get() < 1000 || overflows.get() < 4) {
            throw new AssertionError(n + " IDs, " + all.size() + " different, " + nulls + " null pointers, " + overflows
                    + " full stacks");
        }
        System.out.println("ok");
    }

    private static void storm(Generator ids, long[] own, long end) {
        for (int k = 0; k < 1000 || System.nanoTime() < end; k++) {
            long id = k % 100 == 0 ? ids.take(1)[0] : ids.next();
            if (k < own.length) {
                own[k] = id;
            }
            try {
                none.length();
                throw new AssertionError("null has a length");
            } catch (NullPointerException e) {
                nulls.incrementAndGet();
            }
            if (k % 500 == 0) {
                try {
                    deep(ids, k);
                    throw new AssertionError("the stack is endless");
                } catch (StackOverflowError e) {
                    overflows.incrementAndGet();
                }
            }
        }
    }

    private static int deep(Generator ids, int k) {
        return deep(ids, k + 1) + 1;
    }
}
