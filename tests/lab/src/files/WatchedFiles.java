package lab;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A number on each line of each file of a folder, in which Flink's own file source looks for new ones. Releases from 1.15 on.
 *
 * <p>Arguments: watches (the folder), looks-every-s.
 */
public final class WatchedFiles {
    private WatchedFiles() {}

    static DataStream<Long> of(StreamExecutionEnvironment env, int partitions, Map<String, String> arguments) {
        FileSource<String> source = FileSource.forRecordStreamFormat(
                        new TextLineInputFormat(), new Path(arguments.get("watches")))
                .monitorContinuously(Duration.ofSeconds(Long.parseLong(arguments.getOrDefault("looks-every-s", "10"))))
                .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "files")
                .setParallelism(partitions)
                .map(Long::parseLong)
                .returns(Types.LONG)
                .setParallelism(partitions);
    }
}
