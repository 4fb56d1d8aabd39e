import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import org.snowfence.Generator;

/** Prints IDs: java -cp build/snowfence.jar:build Example STORE N. */
public final class Example {
    public static void main(String[] args) {
        try (Generator ids = Generator.open(args[0], null, "label=java-example");
                PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)))) {
            for (long n = Long.parseLong(args[1]); n > 0; n--) {
                out.println(ids.next());
            }
        }
    }
}
