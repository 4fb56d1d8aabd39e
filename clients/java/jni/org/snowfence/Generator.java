package org.snowfence;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;

/**
 * Makes 64-bit IDs that never repeat within a namespace of a store. Threads may share one: each takes IDs ahead for
 * itself. The IDs of a thread increase. Those taken ahead are dropped after 100 ms, and when the lease was lost.
 *
 * <pre>
 * try (Generator ids = Generator.open("sqlite:/var/lib/shop/ids.db")) {
 *     long order = ids.next();
 * }
 * </pre>
 */
public final class Generator implements AutoCloseable {
    static {
        String path = System.getProperty("snowfence.jni");
        if (path != null) {
            System.load(path);
        } else {
            System.loadLibrary("snowfence_jni");
        }
    }

    private static final int RING_WORDS = 1031; // SNOWFENCE_RING_WORDS

    /** An ID taken apart. */
    public record Parts(long tick, Instant time, long node, long sequence, long rollback, int key) {
        private static Parts of(long[] p) {
            return new Parts(p[0], Instant.ofEpochSecond(p[1], p[2]), p[3], p[4], p[5], (int) p[6]);
        }
    }

    private final long handle;
    private final ThreadLocal<Ring> rings = ThreadLocal.withInitial(Ring::new);
    private boolean closed;

    private Generator(long handle) {
        this.handle = handle;
    }

    /** Leases a node from a store; null is the store of this machine. */
    public static Generator open(String store) {
        return open(store, null, null);
    }

    /** Leases a node from a namespace of a store, with options such as "lead=2000,label=web-1", or null. */
    public static Generator open(String store, String namespace, String options) {
        return new Generator(open0(utf8(store), utf8(namespace), utf8(options)));
    }

    /** Makes IDs of one node, whose use a file remembers over restarts. */
    public static Generator openStateFile(String path, long node, String layout, String options) {
        return new Generator(openStateFile0(utf8(path), utf8(layout), node, utf8(options)));
    }

    /** Makes IDs of a bare number. It is safe inside this process only. */
    public static Generator openStatic(long node, String layout, String options) {
        return new Generator(openStatic0(utf8(layout), node, utf8(options)));
    }

    /** Makes an ID. */
    public long next() {
        return next0(rings.get().address, handle);
    }

    /** Makes n IDs, in increasing order. */
    public long[] take(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("n is negative: " + n);
        }
        long[] ids = new long[n];
        fill(handle, ids);
        rings.get().memory.putLong(0, 0); // it holds lower ones
        return ids;
    }

    /** Takes an ID apart, with the layout and the secrets of this generator. */
    public Parts decode(long id) {
        return Parts.of(decodeOwn(handle, id));
    }

    /** Takes an ID apart; null is the default layout. */
    public static Parts decode(long id, String layout) {
        return Parts.of(decode0(utf8(layout), id));
    }

    /** Writes an ID as text, such as "base58"; null is decimal. */
    public static String format(long id, String encoding) {
        return new String(format0(id, utf8(encoding)), StandardCharsets.US_ASCII);
    }

    /** Reads the text of an ID. */
    public static long parse(String text, String encoding) {
        return parse0(utf8(text), utf8(encoding));
    }

    /** Ends the generator and gives its node back. A second call does nothing. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        close0(handle);
    }

    /** A text as C takes it, with a zero at its end. */
    private static byte[] utf8(String text) {
        if (text == null) {
            return null;
        }
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a text has a zero character");
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    /** IDs taken ahead for one thread. It does not know its generator, which is garbage while the thread lives. */
    private static final class Ring {
        private final ByteBuffer memory = ByteBuffer.allocateDirect(8 * RING_WORDS);
        private final long address = address(memory);
    }

    private static native long open0(byte[] store, byte[] namespace, byte[] options);

    private static native long openStateFile0(byte[] path, byte[] layout, long node, byte[] options);

    private static native long openStatic0(byte[] layout, long node, byte[] options);

    private static native long address(ByteBuffer memory);

    private static native long next0(long ring, long handle);

    private static native void fill(long handle, long[] ids);

    private static native void close0(long handle);

    private static native long[] decode0(byte[] layout, long id);

    private static native long[] decodeOwn(long handle, long id);

    private static native byte[] format0(long id, byte[] encoding);

    private static native long parse0(byte[] text, byte[] encoding);
}
