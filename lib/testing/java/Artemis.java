import java.io.File;
import org.apache.activemq.artemis.core.config.impl.SecurityConfiguration;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.spi.core.security.ActiveMQJAASSecurityManager;
import org.apache.activemq.artemis.spi.core.security.jaas.InVMLoginModule;

/** Arguments: broker.xml, user, password. The user has the role `app`. */
class Artemis {
  public static void main(String[] arguments) throws Exception {
    var users = new SecurityConfiguration();
    users.addUser(arguments[1], arguments[2]);
    users.addRole(arguments[1], "app");
    var broker = new EmbeddedActiveMQ();
    broker.setConfigResourcePath(new File(arguments[0]).toURI().toString());
    broker.setSecurityManager(new ActiveMQJAASSecurityManager(InVMLoginModule.class.getName(), users));
    broker.start();
    System.out.println("Artemis started");
  }
}
