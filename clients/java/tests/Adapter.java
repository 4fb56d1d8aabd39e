import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.snowfence.Generator;
import org.snowfence.Options;
import org.snowfence.SnowfenceException;

/** Lets lab/conform play with this client: for each line "next" an ID, and an end at "close". */
public final class Adapter {
    public static void main(String[] args) throws Exception {
        Options o = new Options().maxWait(Duration.ofMillis(200));
        if (System.getenv("SNOWFENCE_NAMESPACE") != null) {
            o.namespace(System.getenv("SNOWFENCE_NAMESPACE"));
        }
        if (System.getenv("SNOWFENCE_TTL") != null) {
            o.ttl(duration(System.getenv("SNOWFENCE_TTL")));
        }
        try (Generator ids = Generator.lazy(o);
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null && !line.equals("close"); line = in.readLine()) {
                try {
                    System.out.println(ids.next());
                } catch (SnowfenceException e) {
                    System.out.println("error " + e.getMessage().replace('\n', ' '));
                }
            }
        }
        System.out.println("closed");
    }

    /** Reads a duration such as 1m3.5s or 300ms. */
    private static Duration duration(String text) {
        Duration sum = Duration.ZERO;
        for (MatchResult m : Pattern.compile("([0-9.]+)(ms|m|s)").matcher(text).results().toList()) {
            double unit = m.group(2).equals("ms") ? 1e6 : m.group(2).equals("s") ? 1e9 : 60e9;
            sum = sum.plusNanos((long) (Double.parseDouble(m.group(1)) * unit));
        }
        return sum;
    }
}
