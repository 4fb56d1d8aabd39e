import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;
import org.hibernate.Session;
import org.hibernate.cfg.Configuration;
import org.snowfence.Generator;

public class Main {
    @Entity
    @Table(name = "orders")
    public static class Order {
        @Id
        private Long id;
        private String note;

        protected Order() {} // for Hibernate

        public Order(Generator ids, String note) {
            id = ids.next();
            this.note = note;
        }
    }

    public static void main(String[] args) {
        Configuration c = new Configuration().addAnnotatedClass(Order.class)
            .setProperty("hibernate.connection.url", "jdbc:hsqldb:mem:shop")
            .setProperty("hibernate.hbm2ddl.auto", "create");
        try (Generator ids = Generator.open("http://127.0.0.1:8080")) {
            Session session = c.buildSessionFactory().openSession();
            session.beginTransaction();
            session.save(new Order(ids, "first"));
            session.getTransaction().commit();
            System.out.println(session.createQuery("select id from Main$Order").list());
            session.close();
        }
    }
}
