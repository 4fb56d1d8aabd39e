import org.snowfence.Generator;
import org.snowfence.Options;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class Main {
    @Bean(destroyMethod = "close")
    public Generator ids(@Value("${SNOWFENCE_SERVER:http://127.0.0.1:8080}") String server) {
        return Generator.lazy(new Options().server(server));
    }

    public static void main(String[] args) {
        try (var context = new AnnotationConfigApplicationContext(Main.class)) { // Spring Boot does this
            System.out.println(context.getBean(Generator.class).next());
        }
    }
}
