package lab;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.plugin.PluginUtils;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/** Flink's own JobManager and TaskManagers in one JVM, which answer REST as they do in their own: {@code --configDir DIR TASKMANAGERS}. */
public final class OneProcess {
    public static void main(String[] args) throws Exception {
        Configuration configuration = GlobalConfiguration.loadConfiguration(args[1]);
        FileSystem.initialize(configuration, PluginUtils.createPluginManagerFromRootFolder(configuration));
        MiniClusterConfiguration wanted = new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(Integer.parseInt(args[2]))
                .setNumSlotsPerTaskManager(configuration.get(TaskManagerOptions.NUM_TASK_SLOTS))
                .build();
        new MiniCluster(wanted).start();
        Thread.currentThread().join();
    }

    private OneProcess() {}
}
