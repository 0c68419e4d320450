"""Causes: classes and serializers of the job, and native libraries."""

from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES = (
    FailureCause(
        "NATIVE_LIBRARY",
        r"UnsatisfiedLinkError|librocksdbjni|Could not load the native RocksDB library",
        message("a native library could not be loaded"),
        message(
            "See whether its temporary directory may be executed and written (noexec, full), and "
            "whether the image has the C library it was built for: musl instead of glibc is a "
            "usual reason."
        ),
        "java.io.IOException: Could not load the native RocksDB library",
        "org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackend",
    ),
    FailureCause(
        "KRYO",
        r"KryoException|Encountered unregistered class ID|com\.esotericsoftware\.kryo"
        r"[\s\S]*(?:IndexOutOfBounds|ClassCast|NullPointer)",
        message("Kryo cannot read or write a type"),
        message(
            "See which type falls back to Kryo (pipeline.generic-types: false names it at the "
            "start). Give it a POJO, Avro or own serializer, and register classes in a fixed "
            "order. A snapshot that was written before needs the classes of that time."
        ),
        "com.esotericsoftware.kryo.KryoException: Unable to find class: com.example.Order",
        "com.esotericsoftware.kryo",
    ),
    FailureCause(
        "CLASS_MISSING",
        r"ClassNotFoundException|NoClassDefFoundError|Unable to find class",
        message("a class is missing"),
        message(
            "See whether the jar of the job, or lib/ of the cluster, has the class: connectors and "
            "formats are not part of Flink. A class that is in both may be loaded by the wrong "
            "loader (classloader.resolve-order)."
        ),
        "java.lang.ClassNotFoundException: org.apache.kafka.clients.producer.Producer",
        "org.apache.flink.util.FlinkUserCodeClassLoaders",
    ),
    FailureCause(
        "CLASS_VERSIONS",
        r"NoSuchMethodError|NoSuchFieldError|IncompatibleClassChangeError|AbstractMethodError"
        r"|LinkageError|VerifyError|UnsupportedClassVersionError|InvalidClassException"
        r"|cannot assign instance of|cannot be cast to class [^\n]{0,300}loader",
        message("classes of different versions meet"),
        message(
            "Build the job against the versions that the cluster runs: Flink, connectors, Java. "
            "Take what Flink brings out of the jar (scope provided), and shade what differs."
        ),
        "java.lang.NoSuchMethodError: org.apache.flink.api.common.ExecutionConfig.getFoo()V",
        "java.lang.NoSuchMethodError",
    ),
    FailureCause(
        "NOT_SERIALIZABLE",
        r"NotSerializableException|is not serializable|Could not serialize|Cannot instantiate user "
        r"function|Could not instantiate[^\n]{0,40}serializer",
        message("a function or record of the job cannot be serialized"),
        message(
            "Make the field that is named transient and create it in open(), or give its type a "
            "serializer. It fails at each start in the same way."
        ),
        "java.io.NotSerializableException: com.example.Client",
        "org.apache.flink.api.java.ClosureCleaner",
    ),
    FailureCause(
        "ROCKSDB",
        r"RocksDBException|org\.rocksdb\.",
        message("RocksDB reports an error"),
        message(
            "Read its own words behind RocksDBException: disk, memory, open files or damage. Look "
            "at the local disk of that TaskManager, and at RocksDB's own LOG there."
        ),
        "org.rocksdb.RocksDBException: While open a file for appending: Too many open files",
        "org.rocksdb",
    ),
)
