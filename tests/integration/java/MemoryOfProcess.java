import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessSpec;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessUtils;
import org.apache.flink.runtime.util.config.memory.ProcessMemoryUtils;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads a file, a configuration a line (settings separated by blanks), and prints a line for each:
 * what Flink derives, or that no TaskManager starts with it.
 */
public class MemoryOfProcess {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            Configuration configuration = new Configuration();
            for (String setting : line.split(" ")) {
                String[] pair = setting.split("=", 2);
                configuration.setString(pair[0], pair[1]);
            }
            System.out.println(derived(configuration));
        }
    }

    private static String derived(Configuration configuration) {
        TaskExecutorProcessSpec sizes;
        try {
            sizes = TaskExecutorProcessUtils.processSpecFromConfig(configuration);
        } catch (Exception refused) {
            return "refused\t" + refused.getMessage().replace('\n', ' ');
        }
        return String.join(
                "\t",
                "derived",
                "" + sizes.getTotalProcessMemorySize().getBytes(),
                ProcessMemoryUtils.generateJvmParametersStr(sizes),
                TaskExecutorProcessUtils.generateDynamicConfigsStr(sizes));
    }
}
