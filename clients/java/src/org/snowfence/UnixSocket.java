package org.snowfence;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;

/** HTTP over a Unix socket, which java.net.http has not. With HTTP/1.0 an answer ends with its connection. */
final class UnixSocket {
    private final UnixDomainSocketAddress address;

    UnixSocket(String path) {
        address = UnixDomainSocketAddress.of(path);
    }

    /** Sends a request in a thread of its own. To cancel the answer closes its connection. */
    CompletableFuture<Server.Answer> post(String path, String token, String body) {
        CompletableFuture<Server.Answer> answer = new CompletableFuture<>();
        Thread t = new Thread(() -> {
            try (SocketChannel c = SocketChannel.open(StandardProtocolFamily.UNIX)) {
                answer.whenComplete((a, e) -> close(c));
                connect(c);
                answer.complete(exchange(c, path, token, body));
            } catch (IOException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        }, "snowfence-call");
        t.setDaemon(true);
        t.start();
        return answer;
    }

    private void connect(SocketChannel c) throws IOException {
        try {
            c.connect(address);
        } catch (IOException e) {
            ConnectException refused = new ConnectException(String.valueOf(e.getMessage()));
            refused.initCause(e);
            throw refused;
        }
    }

    private static void close(SocketChannel c) {
        try {
            c.close();
        } catch (IOException e) {
            // there is nothing left to do with it
        }
    }

    private static Server.Answer exchange(SocketChannel c, String path, String token, String body) throws IOException {
        byte[] content = body.getBytes(StandardCharsets.UTF_8);
        String head = "POST " + path + " HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + (token == null ? "" : "Authorization: Bearer " + token + "\r\n")
            + "Content-Length: " + content.length + "\r\n\r\n";
        write(c, head.getBytes(StandardCharsets.UTF_8));
        write(c, content);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        ByteBuffer some = ByteBuffer.allocate(16384);
        while (c.read(some.clear()) >= 0) {
            all.write(some.array(), 0, some.position());
        }
        String text = all.toString(StandardCharsets.UTF_8);
        int end = text.indexOf("\r\n\r\n");
        if (end < 0 || !text.substring(0, end).matches("(?s)HTTP/1\\.[01] [1-5][0-9][0-9]\\b.*")) {
            throw Server.damaged("it is no HTTP");
        }
        return new Server.Answer(Integer.parseInt(text.substring(9, 12)), text.substring(end + 4));
    }

    private static void write(SocketChannel c, byte[] bytes) throws IOException {
        for (ByteBuffer b = ByteBuffer.wrap(bytes); b.hasRemaining();) {
            c.write(b);
        }
    }
}
